// A RuleSight is what a run notes for its rules during one step: facts of tensors, device by
// device.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/execution/numbers/number_sight.h"
#include "core/model/dtype.h"
#include "core/rules/rule.h"

namespace trainyard {

/// Names a tensor that a device sees: a parameter of a layer by its number there, or what a node
/// makes or takes by the node's.
struct SeenTensor {
  TensorRole role = TensorRole::Gradient;
  std::uint32_t place = 0, layer = 0, index = 0;
  friend auto operator<=>(const SeenTensor&, const SeenTensor&) = default;
};

/// Notes of one device. Operators that run beside each other note under the lock.
struct SeenByRules {
  std::unique_ptr<std::mutex> lock = std::make_unique<std::mutex>();
  std::map<SeenTensor, TensorFacts> tensors;
  Answers answers;
  HeldBytes held;
  std::map<std::int64_t, std::int64_t> tokens = {};  // of texts: how often each occurs
  // Room for the weights before an update, which the next parameter takes over.
  std::vector<float> before = {};
};

struct RuleSight {
  RuleReads reads = RuleReads::None;
  std::vector<SeenByRules> devices;           // by pipeline rank, then peer
  std::unique_ptr<NumberSight> numbers = {};  // null where nobody records them
  bool for_rules = false;                     // else for a record of numbers alone
};

/// Returns what devices saw as bytes for another process of this machine's kind, and adds what such
/// bytes hold. The bytes are trusted: they are no file.
std::string pack_seen(const std::vector<SeenByRules>&);
void unpack_seen(const std::string&, std::vector<SeenByRules>&);

/// The numbers of a tensor as floats: its own, or copied into `copy`. Empty in formats that are no
/// floats.
std::span<const float> as_floats(const void* data, DType, std::int64_t elements,
                                 std::vector<float>& copy);

}  // namespace trainyard
