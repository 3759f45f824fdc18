// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "net.h"
#include "rng.h"

void net_init(float *params, uint64_t seed)
{
	const float a1 = sqrtf(6.0f / PIXELS), a2 = sqrtf(6.0f / HIDDEN);
	int i;

	for (i = 0; i < NET_PARAMS; i++)
		params[i] = 0;
	for (i = NET_W1; i < NET_B1; i++)
		params[i] = a1 * rng_symmetric(&seed);
	for (i = NET_W2; i < NET_B2; i++)
		params[i] = a2 * rng_symmetric(&seed);
}

static void hidden_layer(const float *params, const float *pixels, float *hidden)
{
	int h, i;

	for (h = 0; h < HIDDEN; h++) {
		const float *w = params + NET_W1 + h * PIXELS;
		float sum = params[NET_B1 + h];

		for (i = 0; i < PIXELS; i++)
			sum += w[i] * pixels[i];
		hidden[h] = sum > 0 ? sum : 0;
	}
}

/* the logits; returns the largest one's index */
static int output_layer(const float *params, const float *hidden, float *out)
{
	int best = 0, c, h;

	for (c = 0; c < CLASSES; c++) {
		const float *w = params + NET_W2 + c * HIDDEN;
		float sum = params[NET_B2 + c];

		for (h = 0; h < HIDDEN; h++)
			sum += w[h] * hidden[h];
		out[c] = sum;
		if (out[c] > out[best])
			best = c;
	}
	return best;
}

float net_gradient(const float *params, const float *pixels, uint8_t label,
		   float *grads, float *correct)
{
	float hidden[HIDDEN], out[CLASSES], back[HIDDEN] = { 0 };
	float sum = 0, loss, top;
	int best, c, h, i;

	hidden_layer(params, pixels, hidden);
	best = output_layer(params, hidden, out);
	*correct += best == label;
	top = out[best];
	loss = top - out[label];
	for (c = 0; c < CLASSES; c++) {
		out[c] = expf(out[c] - top);
		sum += out[c];
	}
	loss += logf(sum);

	for (c = 0; c < CLASSES; c++) {
		const float *w = params + NET_W2 + c * HIDDEN;
		float *g = grads + NET_W2 + c * HIDDEN;
		float delta = out[c] / sum - (c == label);

		grads[NET_B2 + c] += delta;
		for (h = 0; h < HIDDEN; h++) {
			g[h] += delta * hidden[h];
			back[h] += delta * w[h];
		}
	}
	for (h = 0; h < HIDDEN; h++) {
		float *g = grads + NET_W1 + h * PIXELS;

		if (hidden[h] <= 0)
			continue;
		grads[NET_B1 + h] += back[h];
		for (i = 0; i < PIXELS; i++)
			g[i] += back[h] * pixels[i];
	}
	return loss;
}

uint8_t net_answer(const float *params, const float *pixels)
{
	float hidden[HIDDEN], out[CLASSES];

	hidden_layer(params, pixels, hidden);
	return (uint8_t)output_layer(params, hidden, out);
}
