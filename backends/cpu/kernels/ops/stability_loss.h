// The loss of a model that is to answer alike on a sample x and on a corrupted copy x' of it:
//
//   L = CE(f(x)) + weight KL(f(x) || f(x')),   KL = sum over classes of p (log p - log q)
//
// p and q are the softmaxes of the two. Zheng, Song, Leung and Goodfellow, "Improving the
// Robustness of Deep Neural Networks via Stability Training", CVPR 2016; Cidon et al.,
// "Characterizing and Taming Model Instability Across Edge Devices", MLSys 2021. A microbatch has
// an even number of samples, and every second one is the copy of the one before it (PairedData).
// The loss is the mean over pairs, so that the copies' own cross entropy counts for nothing.
#pragma once

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// Forward of softmax_loss with call.stability > 0: needs its "softmax" fact, and a vocabulary that
/// is not divided.
void stability_loss_forward(const KernelCall&);
/// Its backward.
void stability_loss_backward(const KernelCall&);

}  // namespace trainyard
