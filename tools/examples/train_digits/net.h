/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A perceptron with one hidden layer, ReLU and softmax, in fp32.  All parameters
 * are one vector, and so are all gradients: one bucket for one AllReduce.
 */
#ifndef NET_H
#define NET_H

#include <stddef.h>
#include <stdint.h>

#include "digits.h"

#define HIDDEN		32

/* layout of the vector */
#define NET_W1		0			/* [HIDDEN][PIXELS] */
#define NET_B1		(NET_W1 + HIDDEN * PIXELS)
#define NET_W2		(NET_B1 + HIDDEN)	/* [CLASSES][HIDDEN] */
#define NET_B2		(NET_W2 + CLASSES * HIDDEN)
#define NET_PARAMS	(NET_B2 + CLASSES)

void net_init(float *params, uint64_t seed);

/**
 * net_gradient - forward and backward pass of one sample
 * @params: NET_PARAMS parameters
 * @pixels: PIXELS inputs
 * @label: what it should be
 * @grads: NET_PARAMS sums that its gradient is added to
 * @correct: is increased by 1 if the answer was right
 *
 * Return: its loss (cross entropy).
 */
float net_gradient(const float *params, const float *pixels, uint8_t label,
		   float *grads, float *correct);

/* Which digit is it? */
uint8_t net_answer(const float *params, const float *pixels);

#endif /* NET_H */
