/* Numbers of the kernel's interface to physical buffers (/dev/extoll/pmap). */
#ifndef PMAP_H
#define PMAP_H

#include <stdint.h>
#include <sys/ioctl.h>

#define PMAP_IOCTL_MAGIC 'k'
#define PMAP_IOCTL_SET_TYPE _IOW(PMAP_IOCTL_MAGIC, 0, uint64_t)
#define PMAP_IOCTL_SET_SIZE _IOW(PMAP_IOCTL_MAGIC, 4, uint64_t)
#define PMAP_IOCTL_GET_PADDR _IOR(PMAP_IOCTL_MAGIC, 6, uint64_t)

#endif
