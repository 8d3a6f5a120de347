// This file says how much longer computation took beside communication of the same device than
// apart from it, and communication beside computation, as a recording shows it: work that is alike
// ran both ways. Collectives occupy multiprocessors and memory bandwidth that computation then
// lacks (Rashidi et al., "Enabling Compute-Communication Overlap in Distributed Deep Learning
// Training Platforms", ISCA 2021).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "core/cost/calibrated.h"
#include "core/validation/recorded/recorded_spans.h"

namespace trainyard {

/// WorkSpan is one piece of work that a device did, computation or communication.
struct WorkSpan {
  static constexpr std::uint32_t kUnlike = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t process = 0;
  std::int64_t from = 0, to = 0;  // ns, half-open
  std::string_view of;            // its kind, as MeasuredContention::of; must outlive the span
  std::uint32_t alike = kUnlike;  // equal for the same work at the same sizes; kUnlike: it is
                                  // there, and compared with nothing
};

/// The kernels of a recording's streams in the steps that recorded_units() reads, alike by name and
/// stated sizes.
std::vector<WorkSpan> computed_spans(const RecordedTrace&);
/// The kernels of communication of the same steps, which are compared with nothing.
std::vector<WorkSpan> communicated_spans(const RecordedTrace&);

class RecordedContention {
 public:
  /// Fewest pieces of work on each side of a comparison. Fewer have no median worth the name.
  static constexpr std::size_t kFewest = 3;

  RecordedContention() = default;  // nothing ran beside anything
  RecordedContention(const std::vector<WorkSpan>& computed,
                     const std::vector<WorkSpan>& communicated);

  /// One for each kind of computation, by name, and one for communication; without those of which
  /// no piece could be compared.
  const std::vector<MeasuredContention>& measured() const { return measured_; }
  bool of_computation() const { return contention_of(measured_).has_value(); }
  bool of_communication() const { return factors_.count(kCommunicates) > 0; }

  /// Returns what the work would have taken apart from work of the other sort: its time less what
  /// it lost beside it. What could not be compared is taken to have lost what all computation did,
  /// as it does in a simulation; nothing where no computation could be compared either.
  Duration apart(const WorkSpan&) const;

 private:
  using Busy = std::map<std::uint32_t, RecordedSpans>;  // by process, joined
  void compare(const std::vector<WorkSpan>&, const Busy& other);

  Busy computing_, communicating_;
  std::vector<MeasuredContention> measured_;
  std::map<std::string_view, double> factors_;  // by kind; views of texts that live as long as
                                                // spans
  double any_ = 1;                              // of computation of any kind
};

}  // namespace trainyard
