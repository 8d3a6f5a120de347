// This file reads the output of NVIDIA's nccl-tests (and AMD's rccl-tests): a table of sizes with
// the time and the bandwidth of a collective, out of place and in place. The link is fitted as a
// straight line: time = start + bytes on the wire / bandwidth.
//
// algbw is bytes over time. busbw is algbw times a factor that makes it comparable with the link: 2
// (n - 1) / n for all-reduce, (n - 1) / n for all-gather, reduce-scatter and all-to-all, 1 for
// broadcast, reduce and send-receive (n ranks; nccl-tests, doc/PERFORMANCE.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/cost/calibrated.h"
#include "core/io/json/json.h"

namespace trainyard {

struct NcclTiming {
  Duration time{};
  BytesPerSecond algorithm{}, bus{};  // as printed
  friend bool operator==(const NcclTiming&, const NcclTiming&) = default;
};

struct NcclRow {
  Bytes bytes{};
  std::string type;  // "float"
  NcclTiming out_of_place, in_place;
  std::int64_t line = 0;
  friend bool operator==(const NcclRow&, const NcclRow&) = default;
};

struct NcclTable {
  std::string source;
  std::string collective;  // "all_reduce"; empty where the output does not state it
  std::int64_t ranks = 0;  // 0 where the output does not state it
  std::vector<NcclRow> rows;
  std::vector<std::string> notes;  // sentences on what was left out
};

/// Throws Error{InvalidInput} at "SOURCE:LINE" where the text has no table, a malformed row, or
/// bandwidths that do not agree with its sizes and times.
NcclTable parse_nccl_tests(std::string_view text, const std::string& source);

struct LinkResidual {
  Bytes bytes{};
  Duration measured{}, fitted{};
  bool in_place = false;
  double error() const;  // fitted over measured, minus 1
};

struct LinkFit {
  std::string collective;
  std::int64_t ranks = 0;
  double bus_factor = 1;                     // bytes over each link, relative to the size
  Duration start{};                          // start-up time of one collective
  BytesPerSecond bandwidth{};                // of the bus, for large messages
  double median_error = 0, worst_error = 0;  // of |error|
  double held_out = 0;  // median |error| of every other row under a fit to the rest
  std::vector<LinkResidual> residuals;
};
/// Fits by least squares of relative errors over all rows with a time above zero, both placements.
/// Throws Error{InvalidInput} for fewer than two different sizes. Where the table does not state
/// ranks or collective, the factor is taken from the printed bandwidths.
LinkFit fit_links(const NcclTable&);

/// Returns what the collective took out of place, by size, to price it on the cluster's device.
/// Throws Error{InvalidInput} where the table does not state collective and ranks, or has one that
/// no plan uses.
std::vector<ExchangeTiming> exchanges_of(const NcclTable&);

/// Returns a trainyard/links@1 document.
Json links_schema();
std::string links_document(const NcclTable&, const LinkFit&);

}  // namespace trainyard
