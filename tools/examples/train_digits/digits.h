/* SPDX-License-Identifier: GPL-2.0-only */
/* The handwritten digits: 8 x 8 pixels and what they show. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stddef.h>
#include <stdint.h>

#define PIXELS		64
#define CLASSES		10
#define PIXEL_MAX	16

/**
 * struct digits - the data set, in the order of the file
 * @rows: samples
 * @pixels: rows * PIXELS values, 0 to 1
 * @labels: rows values, 0 to CLASSES - 1
 */
struct digits {
	size_t rows;
	float *pixels;
	uint8_t *labels;
};

/* Reads "p0,...,p63,label" lines, gzipped or plain; ends the program on errors. */
void digits_load(struct digits *digits, const char *path);
void digits_free(struct digits *digits);

#endif /* DIGITS_H */
