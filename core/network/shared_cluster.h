// Training jobs that share a leaf-and-spine network with short flows, and reduce their gradients in
// rings or in the switches: Gebara, Ghobadi, Costa, "In-network Aggregation for Shared Machine
// Learning Clusters" (PANAMA), MLSys 2021. A switch that aggregates adds up what the workers below
// it send and passes on one stream; the sum comes back the same way. A job has one tree through one
// spine, or several through different ones that carry equal parts. A tree moves as fast as the
// slowest of its links, and no faster than the packets that its slots hold allow in a round trip.
// Packets that find no slot are added up by the hosts: where the slots of a job carry the share x
// of a link, so much of its rate goes through its trees and the rest around its ring, in such parts
// of its gradients that both end together when it is alone. So it is never slower than its ring.
//
// Short flows arrive from the beginning to the last one that is drawn. A job is found anywhere in
// its cycle of computing and reducing, the first one where its reduction begins; a reduction that
// has not ended with the last short flow counts as the part of it that is done. Without short flows
// every job reduces twice.
//
// The study leaves out loss and its recovery, the shape of queues, and control by marks on the way
// to the fair rate.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/network/switch_sums.h"

namespace trainyard {

struct SharedClusterQuestion {
  std::int64_t leaves = 16, spines = 4;  // at least 2 leaves
  std::int64_t hosts = 8;                // of each leaf that send short flows; at least 1
  BytesPerSecond link{1.25e9};           // of every link and direction: 10 Gb/s
  std::int64_t jobs = 8;
  Bytes gradients{1'000'000};  // of each job's all-reduce
  double communication = 0.5;  // of a job's time alone that its ring takes, in (0, 1)
  double load = 0.3;  // of the links between switches that short flows take in the mean, in [0, 1)
  Bytes message{100'000};         // of a short flow
  std::int64_t messages = 4'000;  // short flows that are drawn
  std::int64_t connections = 4;   // between neighbours of a ring, each on a path of its own
  std::int64_t trees = 4;         // of a job, at most as many as spines
  std::int64_t slots = 4'096;     // of each switch, in equal parts for the trees through it
  Bytes packet{1'024};
  Duration round_trip{10'000};
  std::uint64_t seed = 1;
};

struct SharedClusterRow {
  std::string reduction;          // "ring", "1 tree", "4 trees"
  double lone_seconds = 0;        // an all-reduce of one job that has the network to itself
  double all_reduce_seconds = 0;  // mean with all jobs and short flows
  double mean_completion = 0, p99_completion = 0;  // seconds of a short flow; 0 without any
  double worst_link = 0;   // bytes of an all-reduce of every job over the most loaded link between
                           // switches
  double in_switches = 0;  // share of a job's gradients that switches add up, in [0, 1]
  std::vector<double> completions;  // seconds within which 0, 1, ... 100 % of the short flows
                                    // complete; empty without any
};

struct SharedClusterAnswer {
  SharedClusterQuestion question;
  std::vector<SharedClusterRow> rows;  // ring, one tree, several
  double compute_seconds = 0;          // of a job between two reductions, however it reduces
  std::vector<SwitchSums> sums = {};   // of what a switch adds up for a job, by how it does
};

/// Every job has a worker below each leaf, on a host of its own; short flows are of other hosts.
/// `progress` is told the share that is done, in [0, 1]. Throws Error{InvalidInput} where a figure
/// is out of the range stated above, and Error{Cancelled} when stopped.
SharedClusterAnswer shared_cluster(const SharedClusterQuestion&, std::stop_token = {},
                                   const std::function<void(double)>& progress = {});

}  // namespace trainyard
