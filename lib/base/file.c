// SPDX-License-Identifier: LGPL-2.1-or-later
/* Small files, as those of sysfs and procfs. */
#include <stdio.h>
#include <string.h>

#include "base.h"

bool hcomm_read_line(const char *path, char *line, size_t room)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(line, (int)room, f);
	fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = 0;
	return ok && *line;
}
