// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests: /dev/unmap_test does with user memory what drivers do, see driver.h.
 *
 * Law 8.  Drivers install entries in user mappings, or look up entries that they have
 * faulted in, with the mmap lock held for reading; empty tables may be freed meanwhile.
 * Other code (BPF's arena) zaps entries without any lock of mm's; that zap must not free
 * tables.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../compat_rmap.h"
#include "../internal.h"
#include "driver_collect.h"
#include "driver_move.h"
#include "driver_watch.h"

#define PAGES_MAX	64
#define MOVES_MAX	65536	/* pages */

/**
 * struct driver - one open file
 * @page: the only page of the file
 * @lock: protects @vma; nests inside the mmap lock
 * @vma: where the file is mapped; null if it is not
 * @watch_lock: protects @watch; the mmap lock nests inside it
 * @watch: the reader that is to be stopped
 */
struct driver {
	struct page *page;
	struct mutex lock;		/* see above */
	struct vm_area_struct *vma;
	struct mutex watch_lock;	/* see above */
	struct watch watch;
};

static vm_fault_t driver_fault(struct vm_fault *vmf)
{
	struct driver *d = vmf->vma->vm_private_data;

	if (!(vmf->vma->vm_flags & VM_PFNMAP))
		return VM_FAULT_SIGBUS;
	return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(d->page));
}

static void driver_vma_close(struct vm_area_struct *vma)
{
	struct driver *d = vma->vm_private_data;

	mutex_lock(&d->lock);
	if (d->vma == vma)
		d->vma = NULL;
	mutex_unlock(&d->lock);
}

static int driver_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct driver_vm_ops = {
	.close = driver_vma_close,
	.may_split = driver_may_split,
	.fault = driver_fault,
};

static int driver_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct driver *d = file->private_data;
	bool pfns = vma->vm_pgoff == UNMAP_DRIVER_PFNS;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND |
			  (pfns ? VM_PFNMAP | VM_IO : VM_MIXEDMAP));
	vma->vm_private_data = d;
	vma->vm_ops = &driver_vm_ops;
	mutex_lock(&d->lock);
	d->vma = vma;
	mutex_unlock(&d->lock);
	return 0;
}

static unsigned long bytes(const struct unmap_driver_range *range)
{
	return range->pages << PAGE_SHIFT;
}

static bool is_mapped(const struct driver *d, const struct unmap_driver_range *range,
		      vm_flags_t kind)
{
	return d->vma && d->vma->vm_mm == current->mm && d->vma->vm_flags & kind &&
	       range_in_vma(d->vma, range->addr, range->addr + bytes(range));
}

/* The mmap lock is held for reading, so that the VMA stays. */
static int insert(struct driver *d, const struct unmap_driver_range *range,
		  bool single)
{
	struct page *pages[PAGES_MAX];
	unsigned long i, nr = range->pages;

	if (!is_mapped(d, range, VM_MIXEDMAP))
		return -ENXIO;
	if (single)
		return vm_insert_page(d->vma, range->addr, d->page);
	for (i = 0; i < nr; i++)
		pages[i] = d->page;
	return vm_insert_pages(d->vma, range->addr, pages, &nr);
}

static int count_entry(pte_t *pte, unsigned long addr, void *data)
{
	int *nr = data;

	++*nr;
	return 0;
}

static int apply(const struct unmap_driver_range *range)
{
	int nr = 0, err;

	if (!find_vma_intersection(current->mm, range->addr, range->addr + 1))
		return -ENXIO;
	err = apply_to_page_range(current->mm, range->addr, bytes(range), count_entry, &nr);
	return err ?: nr;
}

/* As KVM and VFIO do: after the fault they take a missing entry for an error. */
static int fault_once(struct driver *d, const struct unmap_driver_range *range)
{
	struct follow_pfnmap_args args = { .address = range->addr };
	bool unlocked = false;
	int err;

	if (!is_mapped(d, range, VM_PFNMAP))
		return -ENXIO;
	err = fixup_user_fault(current->mm, range->addr, FAULT_FLAG_WRITE, &unlocked);
	if (err || unlocked)
		return err ?: -EAGAIN;
	args.vma = d->vma;
	if (follow_pfnmap_start(&args))
		return -ENOENT;
	err = args.pfn == page_to_pfn(d->page) ? 0 : -EIO;
	follow_pfnmap_end(&args);
	return err;
}

static int collect(const struct unmap_driver_range *range)
{
	struct vm_area_struct *vma = vma_lookup(current->mm, range->addr);
	unsigned long end = range->addr + bytes(range);

	if (!vma || !range_in_vma(vma, range->addr, end))
		return -ENXIO;
	return unmap_driver_collect(vma, range->addr, end);
}

static int with_mmap_lock(struct driver *d, unsigned int cmd,
			  const struct unmap_driver_range *range)
{
	int err;

	mmap_read_lock(current->mm);
	if (cmd == UNMAP_DRIVER_APPLY)
		err = apply(range);
	else if (cmd == UNMAP_DRIVER_FAULT_ONCE)
		err = fault_once(d, range);
	else if (cmd == UNMAP_DRIVER_COLLECT)
		err = collect(range);
	else
		err = insert(d, range, cmd == UNMAP_DRIVER_INSERT_PAGE);
	mmap_read_unlock(current->mm);
	return err;
}

/* The driver's lock keeps the VMA from being freed, but no lock keeps its page tables. */
static int zap(struct driver *d, const struct unmap_driver_range *range)
{
	int err = -ENXIO;

	mutex_lock(&d->lock);
	if (is_mapped(d, range, VM_PFNMAP | VM_MIXEDMAP)) {
		if (d->vma->vm_flags & VM_PFNMAP)
			zap_special_vma_range(d->vma, range->addr, bytes(range));
		else
			zap_vma_range(d->vma, range->addr, bytes(range));
		err = 0;
	}
	mutex_unlock(&d->lock);
	return err;
}

static bool moves(unsigned int cmd)
{
	return cmd == UNMAP_DRIVER_MOVE || cmd == UNMAP_DRIVER_MOVE_DOWN ||
	       cmd == UNMAP_DRIVER_MOVE_APART;
}

static int call_range(struct driver *d, unsigned int cmd, const void __user *arg)
{
	struct unmap_driver_range range;

	if (copy_from_user(&range, arg, sizeof(range)))
		return -EFAULT;
	if (!range.pages || range.pages > (moves(cmd) ? MOVES_MAX : PAGES_MAX) ||
	    !PAGE_ALIGNED(range.addr))
		return -EINVAL;
	if (cmd == UNMAP_DRIVER_ZAP)
		return zap(d, &range);
	if (moves(cmd))
		return unmap_driver_move(range.addr, range.addr + bytes(&range), cmd);
	return with_mmap_lock(d, cmd, &range);
}

static int watch(struct driver *d, const void __user *arg)
{
	struct unmap_driver_watch want;
	int err = -EBUSY;

	if (copy_from_user(&want, arg, sizeof(want)))
		return -EFAULT;
	mutex_lock(&d->watch_lock);
	if (!d->watch.event[0])
		err = unmap_watch_begin(&d->watch, &want);
	mutex_unlock(&d->watch_lock);
	return err;
}

static int watched(struct driver *d, void __user *arg)
{
	mutex_lock(&d->watch_lock);
	unmap_watch_end(&d->watch);
	mutex_unlock(&d->watch_lock);
	return copy_to_user(arg, &d->watch.seen, sizeof(d->watch.seen)) ? -EFAULT : 0;
}

static int end(struct driver *d)
{
	mutex_lock(&d->watch_lock);
	unmap_watch_close(&d->watch);
	mutex_unlock(&d->watch_lock);
	return 0;
}

static long driver_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct driver *d = file->private_data;
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case UNMAP_DRIVER_INSERT_PAGE:
	case UNMAP_DRIVER_INSERT_PAGES:
	case UNMAP_DRIVER_APPLY:
	case UNMAP_DRIVER_FAULT_ONCE:
	case UNMAP_DRIVER_COLLECT:
	case UNMAP_DRIVER_ZAP:
	case UNMAP_DRIVER_MOVE:
	case UNMAP_DRIVER_MOVE_DOWN:
	case UNMAP_DRIVER_MOVE_APART:
		return call_range(d, cmd, p);
	case UNMAP_DRIVER_WATCH:
		return watch(d, p);
	case UNMAP_DRIVER_WATCHED:
		return watched(d, p);
	case UNMAP_DRIVER_AWAIT:
		return unmap_watch_await(&d->watch);
	case UNMAP_DRIVER_END:
		return end(d);
	}
	return -ENOTTY;
}

static int driver_open(struct inode *inode, struct file *file)
{
	struct driver *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!d->page) {
		kfree(d);
		return -ENOMEM;
	}
	mutex_init(&d->lock);
	mutex_init(&d->watch_lock);
	file->private_data = d;
	return 0;
}

static int driver_release(struct inode *inode, struct file *file)
{
	struct driver *d = file->private_data;

	unmap_watch_end(&d->watch);
	put_page(d->page);
	kfree(d);
	return 0;
}

static const struct file_operations driver_fops = {
	.open = driver_open,
	.release = driver_release,
	.mmap = driver_mmap,
	.unlocked_ioctl = driver_ioctl,
};

static struct miscdevice driver_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "unmap_test",
	.fops = &driver_fops,
	.mode = 0600,
};

static int __init unmap_driver_init(void)
{
	return misc_register(&driver_device);
}
late_initcall(unmap_driver_init);
