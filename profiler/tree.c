// SPDX-License-Identifier: GPL-2.0-only
/* A call tree.  tree_child() moves the child that it finds to the front of its list. */
#include <stdlib.h>
#include <string.h>

#include "symbols.h"
#include "tree.h"

static struct node *make(struct node *parent, unsigned int symbol)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		abort();
	node->symbol = symbol;
	node->parent = parent;
	node->sibling = parent->child;
	parent->child = node;
	return node;
}

static struct node *to_front(struct node *parent, struct node **link)
{
	struct node *node = *link;

	*link = node->sibling;
	node->sibling = parent->child;
	parent->child = node;
	return node;
}

struct node *tree_child(struct node *parent, unsigned int symbol)
{
	struct node **link;

	for (link = &parent->child; *link; link = &(*link)->sibling)
		if ((*link)->symbol == symbol)
			return to_front(parent, link);
	return make(parent, symbol);
}

static void print_path(const struct node *node, FILE *out)
{
	if (!node->parent)
		return;
	print_path(node->parent, out);
	if (node->parent->parent)
		fputc(';', out);
	fputs(symbol_name(node->symbol), out);
}

static void print_node(const struct node *node, FILE *out)
{
	const struct counts *self = &node->self;

	if (!self->instructions)
		return;
	print_path(node, out);
	fprintf(out, " %llu %llu %llu %llu %llu\n",
		(unsigned long long)self->calls,
		(unsigned long long)self->instructions,
		(unsigned long long)self->atomics,
		(unsigned long long)self->flushes_one,
		(unsigned long long)self->flushes_all);
}

void tree_print(const struct node *root, FILE *out)
{
	const struct node *child;

	print_node(root, out);
	for (child = root->child; child; child = child->sibling)
		tree_print(child, out);
}

void tree_clear(struct node *root)
{
	struct node *child, *next;

	for (child = root->child; child; child = next) {
		next = child->sibling;
		tree_clear(child);
		free(child);
	}
	root->child = NULL;
	memset(&root->self, 0, sizeof(root->self));
}
