// A small training of replicas that lessons run at once: logistic regression on made-up samples,
// each replica with its own, whose gradients are combined in one of three ways.
#pragma once

namespace trainyard {

enum class ReplicaWay { Mean, Sum, Adasum };

/// Returns the mean loss over all samples after 8 epochs, in which every replica has 8 samples an
/// update: more replicas make fewer updates. `replicas` is rounded down to a power of two from 1 to
/// 64. A rate at which it diverges gives a large loss, never one that is no number.
double replica_loss(ReplicaWay, int replicas, double rate);

}  // namespace trainyard
