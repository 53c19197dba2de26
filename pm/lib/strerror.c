/* The sentences of errors. */
#include "common.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

const char *pm_strerror(int number)
{
	number = abs(number);
	switch (number) {
	case FI_EOTHER:
		return "Unspecified error";
	case FI_ETOOSMALL:
		return "Provided buffer is too small";
	case FI_EOPBADSTATE:
		return "Operation not permitted in current state";
	case FI_EAVAIL:
		return "Error available";
	case FI_EBADFLAGS:
		return "Flags not supported";
	case FI_ENOEQ:
		return "Missing or unavailable event queue";
	case FI_EDOMAIN:
		return "Invalid resource domain";
	case FI_ENOCQ:
		return "Missing or unavailable completion queue";
	case FI_ECRC:
		return "CRC error";
	case FI_ETRUNC:
		return "Truncation error";
	case FI_ENOKEY:
		return "Required key not available";
	case FI_ENOAV:
		return "Missing or unavailable address vector";
	case FI_EOVERRUN:
		return "Queue has been overrun";
	case FI_ENORX:
		return "Receiver not ready, no receive buffers available";
	default:
		return strerror(number);
	}
}
