// Many senders answer one receiver at once, and their packets meet in the buffer of its switch
// port. Where they overflow it, a sender that loses most of a window hears nothing of it and waits
// for its timer, in which thousands of round trips pass: incast (Phanishayee et al., "Measurement
// and analysis of TCP throughput collapse in cluster-based storage systems", FAST 2008; Vasudevan
// et al., SIGCOMM 2009). With marks of congestion senders give way before that: DCTCP (Alizadeh et
// al., SIGCOMM 2010; RFC 8257). A switch marks packets that find more than a threshold K in its
// queue; a sender keeps the mean share of its packets that are marked, a <- (1 - g) a + g F, and
// shrinks its window by the factor 1 - a / 2 in a round trip with marks. The queue of long flows
// then peaks near K + N packets (Alizadeh et al., section 3.3; recalled, as is the content of FAST
// 2008; the formulas are those of the RFC).
//
// Both are followed by round trips. Senders exchange blocks: the next begins when the last sender
// of the one before is done. In a round trip every sender sends a window; what pipe and buffer do
// not hold is lost, and which packets that are is drawn. A sender to which fewer than three packets
// of a round with losses were acknowledged times out, others halve their windows (NewReno).
//
// The study leaves out delayed acknowledgements, the spread of timers, buffers that ports share,
// and switches that pause senders (priority flow control), under which nothing is lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

struct IncastQuestion {
  std::int64_t senders = 32;       // in [1, 4096]
  Bytes block{256'000};            // of each sender in an exchange; > 0
  std::int64_t exchanges = 20;     // >= 1
  BytesPerSecond link{1.25e9};     // of every sender and of the receiver: 10 Gb/s
  Bytes packet{1'500};             // > 0
  std::int64_t buffer = 256;       // packets of the receiver's port; >= 0
  std::int64_t threshold = 65;     // packets in the queue from which on it marks; >= 0. The one
                                   // that Linux names for 10 Gb/s
  std::int64_t window = 1'024;     // the most packets that a sender has under way; >= 1
  std::int64_t first_window = 10;  // with which it begins; RFC 6928
  Duration round_trip{100'000};    // of an empty network; > 0
  Duration timeout{200'000'000};   // the least that a timer waits, as in Linux; >= round_trip
  std::uint64_t seed = 1;          // draws which packets are lost
};

struct IncastRow {
  std::string control;     // "none", "marks"
  double seconds = 0;      // of an exchange, in the mean
  double goodput = 0;      // share of the receiver's link that blocks have, in (0, 1]
  double lost = 0;         // packets of an exchange, in the mean
  double timeouts = 0;     // of an exchange, in the mean
  std::int64_t queue = 0;  // most packets that were in the buffer
  double looked_at = 0;    // windows that were followed in an exchange, in the mean: what following
                           // it has cost; each has at least one packet
};

struct IncastAnswer {
  IncastQuestion question;
  double alone_seconds = 0;     // of an exchange, if its bytes pass the link without a pause
  double pipe = 0;              // packets that the link holds in a round trip
  std::vector<IncastRow> rows;  // none, marks
};

/// Throws Error{InvalidInput} where a figure is out of the range stated above, where all exchanges
/// have more than 100 million packets, or where the buffer, the threshold, a window or what the
/// link holds in a round trip is above a billion packets.
IncastAnswer incast(const IncastQuestion&);

/// IncastDelay is what an exchange takes longer than through a buffer that holds everything.
struct IncastDelay {
  Duration time{};      // >= 0
  double timeouts = 0;  // of an exchange, in the mean
};
/// Returns it for a port that marks packets or does not. Throws as incast().
IncastDelay incast_delay(const IncastQuestion&, bool marks);

}  // namespace trainyard
