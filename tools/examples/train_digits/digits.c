// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../../common/util.h"
#include "digits.h"

#define MAX_ROWS	(1u << 20)
#define MAX_LINE	4096

/* the number at *text, which ends at a comma or at the end of the line */
static float next_number(char **text, double max, const char *path, size_t line)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(*text, &end);
	if (end == *text || errno || !(value >= 0 && value <= max) ||
	    (*end && *end != ',' && *end != '\n' && *end != '\r'))
		fatal("%s:%zu: bad value at '%.20s'", path, line, *text);
	*text = *end == ',' ? end + 1 : end;
	return (float)value;
}

static void parse_line(struct digits *digits, char *text, const char *path)
{
	size_t line = digits->rows + 1;
	float *row = digits->pixels + digits->rows * PIXELS;
	float label;
	int i;

	for (i = 0; i < PIXELS; i++)
		row[i] = next_number(&text, PIXEL_MAX, path, line) / PIXEL_MAX;
	label = next_number(&text, CLASSES - 1, path, line);
	if (label != (float)(int)label || (*text && *text != '\n' && *text != '\r'))
		fatal("%s:%zu: not %d pixels and a digit", path, line, PIXELS);
	digits->labels[digits->rows++] = (uint8_t)label;
}

void digits_load(struct digits *digits, const char *path)
{
	gzFile file = gzopen(path, "rb");
	size_t room = 0;
	char line[MAX_LINE];
	int err;

	memset(digits, 0, sizeof(*digits));
	if (!file)
		fatal("%s: %s", path, strerror(errno ? errno : ENOMEM));
	while (gzgets(file, line, sizeof(line))) {
		if (digits->rows == room) {
			room = room ? 2 * room : 2048;
			digits->pixels = realloc(digits->pixels,
				room * PIXELS * sizeof(*digits->pixels));
			digits->labels = realloc(digits->labels, room);
			if (!digits->pixels || !digits->labels)
				fatal("no memory for %zu rows", room);
		}
		if (digits->rows == MAX_ROWS)
			fatal("%s: more than %u rows", path, MAX_ROWS);
		parse_line(digits, line, path);
	}
	gzerror(file, &err);
	if (err != Z_OK && err != Z_STREAM_END)
		fatal("%s: the file is damaged", path);
	gzclose(file);
	if (!digits->rows)
		fatal("%s: no rows", path);
}

void digits_free(struct digits *digits)
{
	free(digits->pixels);
	free(digits->labels);
}
