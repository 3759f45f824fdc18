// SPDX-License-Identifier: GPL-2.0-only
/* The one file that makes the code of the tracepoints. */
#define CREATE_TRACE_POINTS
#include "trace.h"
