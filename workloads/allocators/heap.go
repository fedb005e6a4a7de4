// SPDX-License-Identifier: GPL-2.0-only

// heap all|live: fill, free and purge a heap, for allocators.c.
//
// The program allocates the same objects as jemalloc.c, in the same order.  One processor
// runs Go code, and the collector runs only when it is called: after every 64 MiB of
// allocations, and after all objects were dropped.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

const (
	seed      = 20261123
	slots     = 1 << 20
	steps     = 3 * slots
	smallest  = 16
	doublings = 14
	page      = 4096
	living    = 1000 // "live" keeps one object in this many
	collected = 64 << 20
)

var state uint64 = seed

// splitmix64
func draw() uint64 {
	state += 0x9e3779b97f4a7c15
	z := state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func drawSize() uint32 {
	word := draw()
	least := uint32(smallest)
	for i := 0; i < doublings && word&1 != 0; i++ {
		least *= 2
		word >>= 1
	}
	return least + uint32((word>>1)%uint64(least))
}

func mark(object []byte, tag byte) {
	for i := 0; i < len(object); i += page {
		object[i] = tag
	}
	object[len(object)-1] = tag
}

func check(object []byte, tag byte) {
	for i := 0; i < len(object); i += page {
		if object[i] != tag {
			fmt.Fprintln(os.Stderr, "an object that lives has changed")
			os.Exit(1)
		}
	}
}

func fill(objects [][]byte) {
	allocated := uint32(0)
	for step := 0; step < steps; step++ {
		slot := draw() % slots
		size := drawSize()
		objects[slot] = make([]byte, size)
		mark(objects[slot], byte(slot))
		if allocated += size; allocated >= collected {
			allocated = 0
			runtime.GC()
		}
	}
}

func reportFilled(objects [][]byte) {
	count, bytes := 0, 0
	for _, object := range objects {
		if object != nil {
			count++
		}
		bytes += len(object)
	}
	fmt.Println("filled", count, bytes)
}

func main() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	live := len(os.Args) > 1 && os.Args[1] == "live"
	told := bufio.NewReader(os.Stdin)

	objects := make([][]byte, slots)
	fill(objects)
	reportFilled(objects)
	for slot := range objects {
		if !live || slot%living != 0 {
			objects[slot] = nil
		}
	}
	if !live {
		objects = nil
	}
	runtime.GC()
	fmt.Println("freed")
	told.ReadByte()
	debug.FreeOSMemory()
	fmt.Println("purged")
	told.ReadByte()
	for slot := 0; slot < len(objects); slot += living {
		if objects[slot] != nil {
			check(objects[slot], byte(slot))
		}
	}
}
