// This file sets measured all-reduces beside their prices. The link is fitted on messages between
// neighbours and on adding, and never on the collectives that the price is held against.
#pragma once

#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/cost/collectives/collective_hops.h"

namespace trainyard {

struct MessageTiming {
  Bytes bytes;
  Duration time{};
};

/// alpha and beta of the line that is nearest to the times, by its distance as a share of each;
/// both are at least 0, and gamma is 0. Messages of two sizes at least.
LinkCost fit_messages(std::span<const MessageTiming>);

/// One all-reduce of so many bytes (of the whole vector) by one algorithm.
struct CollectiveTiming {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  Bytes bytes;
  Duration measured{};      // the fastest of several, as of messages and of adding
  Duration priced{};        // with the link of what its rounds are like: see price_collectives()
  Duration priced_alone{};  // with the link of a ping-pong of two ranks
};

/// The links as they are for vectors of so many bytes. Caches make a byte dearer in long messages,
/// so that each vector has a line of its own, through messages of bytes / ranks to bytes: the sizes
/// that its all-reduces send.
struct LinkAtSize {
  Bytes bytes;
  LinkCost busy, alone;
};

struct CollectiveStudy {
  int ranks = 1, on_this_machine = 1, cores = 1;
  std::vector<MessageTiming> alone;   // a ping-pong of ranks 0 and 1, one way, while others wait
  std::vector<MessageTiming> busy;    // every rank sends to the next and receives of the last
  std::vector<MessageTiming> adding;  // of so many bytes to as many, on all ranks at once
  double sum_error = 0;  // the largest difference of any element of any sum, as a share of it
  std::vector<LinkAtSize> links;
  std::vector<CollectiveTiming> rows;
};

/// Fits the links and fills in the prices of all rows. Where every rank sends and receives in each
/// round, the link is that of all ranks at once; in a tree a rank does one of both, as in a
/// ping-pong.
void price_collectives(CollectiveStudy&);

/// The row of that many bytes that is measured fastest, or by price. There must be one.
const CollectiveTiming& fastest_measured(const CollectiveStudy&, Bytes);
const CollectiveTiming& fastest_priced(const CollectiveStudy&, Bytes);

}  // namespace trainyard
