/* Numbers of the kernel's interface to RMA2. Clients include this file; librma2 has no use for it here. */
#ifndef RMA2_IOCTL_H
#define RMA2_IOCTL_H

#define RMA2_IOCTL_MAGIC 'k'
#define RMA2_IOCTL_MAX_NR 25

#endif
