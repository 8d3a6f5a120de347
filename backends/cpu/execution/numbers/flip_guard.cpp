#include "backends/cpu/execution/numbers/flip_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/processes.h"
#include "core/base/packed.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

constexpr int kByte = 8;
constexpr int kPartShift = 52;  // above all numbers of tensors

}  // namespace

bool FlipGuard::flips(FlipClass of) const {
  const BitFlips& s = settings();
  return s.rate(of) > 0 && (s.at == 0 || s.at == step_ + 1);
}

void FlipGuard::begin_step(std::int64_t step) {
  step_ = step;
  ++begun_[step];
  ++report_.steps;
  flipped_.clear(), left_.clear(), unseen_.clear(), named_.clear(), largest_now_.clear();
  drawn_.clear(), seen_.clear();
  any_left_ = alarmed_ = ended_ = false;
}

const std::vector<BitFlip>& FlipGuard::flipped(const FlipKey& key, std::int64_t elements,
                                               DType type, const std::string& name) {
  const std::scoped_lock hold(mutex_);
  const auto [at, fresh] = flipped_.try_emplace(key);
  if (!fresh || !flips(key.of)) return at->second;
  const FlipDraw draw{seed_of(training_, RandomSource::Rounding),
                      key.of,
                      step_,
                      attempts() - 1,
                      key.tensor + (static_cast<std::uint64_t>(key.part) << kPartShift),
                      key.microbatch};
  std::vector<BitFlip> drawn =
      drawn_flips(draw, settings().rate(key.of), elements, bits_of(settings().part, type));
  if (drawn.empty()) return at->second;
  Flipped found{.injected = static_cast<std::int64_t>(drawn.size()), .name = name};
  if (settings().corrects(key.of)) {
    AfterEcc after = after_ecc(drawn, bytes_of(type) * kByte);
    found.corrected = after.corrected, found.known = after.detected;
    drawn = std::move(after.left);
  }
  found.left = static_cast<std::int64_t>(drawn.size());
  drawn_.emplace(key, std::move(found));
  at->second = std::move(drawn);
  return at->second;
}

void FlipGuard::say(std::string sentence) {
  if (report_.sentences.size() < kMostFlipSentences && told_.insert(sentence).second)
    report_.sentences.push_back(fmt::format("step {}: {}", step_ + 1, sentence));
}

// The flips of the tensor that it is about count as detected. A tensor without any is wrong because
// of all those that nobody has found yet.
void FlipGuard::raise(FlipDetector detector, const FlipKey* key, std::string sentence) {
  alarmed_ = true;
  if (key != nullptr && !named_.insert({*key, detector}).second) return;
  ++report_.alarms[static_cast<std::size_t>(detector)];
  say(std::move(sentence));
  if (key == nullptr) return;
  if (const auto own = left_.find(*key); own == left_.end() || own->second == 0) return find_all();
  const auto unseen = unseen_.find(*key);
  if (unseen == unseen_.end()) return;
  counts(key->of).detected += unseen->second;
  unseen_.erase(unseen);
}

void FlipGuard::find_all() {
  for (const auto& [key, unseen] : unseen_) counts(key.of).detected += unseen;
  unseen_.clear();
}

void FlipGuard::look(const FlipKey& key, const FlipSight& before, const FlipSight& now,
                     const std::string& name) {
  const std::scoped_lock hold(mutex_);
  if (settings().checksums && before.sum != now.sum)
    seen_[{key, FlipDetector::Checksum}].join({.name = name});
  if (!settings().ranges) return;
  double& most = largest_now_[{key.of, key.tensor}];
  most = std::max(most, now.largest);
  const auto earlier = largest_.find({key.of, key.tensor});
  const double limit = earlier == largest_.end() ? INFINITY : settings().range * earlier->second;
  if (!now.finite || (limit > 0 && now.largest > limit))
    seen_[{key, FlipDetector::Range}].join({now.finite, now.largest, limit, name});
}

void FlipGuard::Seen::join(const Seen& more) {
  finite = finite && more.finite;
  largest = std::max(largest, more.largest);
  limit = more.limit, name = more.name;
}

void FlipGuard::settle(Processes* processes) {
  if (processes != nullptr)
    for (const std::string& one : processes->all_gather(unsettled())) join(one);
  for (const auto& [key, found] : std::exchange(drawn_, {})) count(key, found);
  for (const auto& [named, seen] : std::exchange(seen_, {})) count(named, seen);
}

std::string FlipGuard::unsettled() const {
  std::string bytes;
  const auto add_key = [&](const FlipKey& key) {
    append(bytes, key.of), append(bytes, key.tensor);
    append(bytes, key.microbatch), append(bytes, key.part);
  };
  append(bytes, std::uint64_t{drawn_.size()});
  for (const auto& [key, found] : drawn_) {
    add_key(key);
    for (const std::int64_t one : {found.injected, found.corrected, found.known, found.left})
      append(bytes, one);
    append_list(bytes, std::string_view(found.name));
  }
  append(bytes, std::uint64_t{seen_.size()});
  for (const auto& [named, seen] : seen_) {
    add_key(named.first);
    append(bytes, named.second), append(bytes, seen.finite);
    append(bytes, seen.largest), append(bytes, seen.limit);
    append_list(bytes, std::string_view(seen.name));
  }
  for (const auto& [tensor, size] : largest_now_) {
    append(bytes, tensor.first), append(bytes, tensor.second);
    append(bytes, size);
  }
  return bytes;
}

void FlipGuard::join(std::string_view unsettled) {
  Pieces pieces(unsettled);
  const auto next_key = [&] {
    FlipKey key;
    key.of = pieces.next<FlipClass>(), key.tensor = pieces.next<std::uint64_t>();
    key.microbatch = pieces.next<std::int64_t>(), key.part = pieces.next<std::int64_t>();
    return key;
  };
  for (auto left = pieces.next<std::uint64_t>(); left > 0; --left) {
    const FlipKey key = next_key();
    Flipped found;
    for (std::int64_t* one : {&found.injected, &found.corrected, &found.known, &found.left})
      *one = pieces.next<std::int64_t>();
    found.name = pieces.text();
    drawn_.emplace(key, std::move(found));
  }
  for (auto left = pieces.next<std::uint64_t>(); left > 0; --left) {
    const FlipKey key = next_key();
    const auto detector = pieces.next<FlipDetector>();
    Seen seen;
    seen.finite = pieces.next<bool>();
    seen.largest = pieces.next<double>(), seen.limit = pieces.next<double>();
    seen.name = pieces.text();
    seen_[{key, detector}].join(seen);
  }
  while (pieces.left()) {
    const auto of = pieces.next<FlipClass>();
    double& most = largest_now_[{of, pieces.next<std::uint64_t>()}];
    most = std::max(most, pieces.next<double>());
  }
}

// Several processes may hold the tensor, and have drawn the same flips for it.
void FlipGuard::count(const FlipKey& key, const Flipped& found) {
  if (!left_.emplace(key, found.left).second) return;
  counts(key.of).injected += found.injected;
  counts(key.of).corrected += found.corrected;
  if (found.left == 0) return;
  any_left_ = true;
  unseen_[key] = found.left - found.known;
  if (found.known == 0) return;
  counts(key.of).detected += found.known;
  raise(FlipDetector::Ecc, nullptr,
        fmt::format("{} bits of the {} flipped two in a word, which its code detects and cannot "
                    "correct",
                    found.known, found.name));
}

void FlipGuard::count(const Named& named, const Seen& seen) {
  const auto& [key, detector] = named;
  raise(detector, &key,
        detector == FlipDetector::Checksum
            ? fmt::format("the {} is not what it was when it was written: the sum of its bits "
                          "differs",
                          seen.name)
        : seen.finite ? fmt::format("the {} has a number of the size {:.3g}, and its largest was "
                                    "{:.3g} before",
                                    seen.name, seen.largest, seen.limit / settings().range)
                      : fmt::format("the {} has a number that is not finite", seen.name));
}

void FlipGuard::store(const FlipKey& key, std::byte* numbers, DType type, std::int64_t elements,
                      const std::string& name) {
  const bool injects = flips(key.of);
  if (!injects && !looks()) return;
  const bool sums = settings().checksums && injects;
  const FlipSight before = sums ? flip_sight(numbers, type, elements) : FlipSight{};
  if (injects) {
    const int bytes = bytes_of(type);
    for (const BitFlip& flip : flipped(key, elements, type, name))
      flip_bit(numbers + flip.element * bytes, bytes, flip.bit);
  }
  if (!looks()) return;
  const FlipSight now = flip_sight(numbers, type, elements);
  look(key, sums ? before : now, now, name);
}

void FlipGuard::see(const Look& look, const std::vector<double>& losses) {
  static const RuleSet exploding = parse_rules("exploding-tensor");
  RunShown shown;
  shown.looks.push_back(look);
  shown.losses = losses;
  FiredRules fired;
  exploding_tensor().of_run(exploding.front().params, shown, fired);
  const std::scoped_lock hold(mutex_);
  for (const FiredRule& one : fired) raise(FlipDetector::Rule, nullptr, one.sentence);
  if (!fired.empty()) find_all();
}

bool FlipGuard::end_step() {
  if (std::exchange(ended_, true)) return alarmed_;
  if (alarmed_) {
    ++report_.alarmed_steps;
    if (!any_left_ && !hidden_) ++report_.false_alarms;
  } else {
    for (const auto& [tensor, size] : largest_now_) {
      double& most = largest_[tensor];
      most = std::max(most, size);
    }
  }
  hidden_ = hidden_ || any_left_;
  return alarmed_;
}

void FlipGuard::store_checkpoint(std::int64_t step, std::string& bytes, std::int64_t number) {
  const BitFlips& s = settings();
  if (s.rate(FlipClass::Checkpoints) <= 0 || (s.at > 0 && s.at != step)) return;
  const FlipDraw draw{
      seed_of(training_, RandomSource::Rounding), FlipClass::Checkpoints, step, number, 0, 0};
  std::vector<BitFlip> drawn = drawn_flips(draw, s.rate(FlipClass::Checkpoints),
                                           static_cast<std::int64_t>(bytes.size()), {0, kByte});
  FlipCounts& count = counts(FlipClass::Checkpoints);
  count.injected += static_cast<std::int64_t>(drawn.size());
  if (s.corrects(FlipClass::Checkpoints)) {
    AfterEcc after = after_ecc(drawn, kByte);
    count.corrected += after.corrected;
    drawn = std::move(after.left);
  }
  for (const BitFlip& flip : drawn)
    flip_bit(reinterpret_cast<std::byte*>(bytes.data()) + flip.element, 1, flip.bit);
  if (!drawn.empty()) in_saved_[{step, number}] = static_cast<std::int64_t>(drawn.size());
}

void FlipGuard::damaged(std::int64_t step, std::int64_t number) {
  ++report_.alarms[static_cast<std::size_t>(FlipDetector::Damage)];
  say(fmt::format("the state that was saved after update {} is damaged", step));
  const auto found = in_saved_.find({step, number});
  if (found == in_saved_.end()) return;
  counts(FlipClass::Checkpoints).detected += found->second;
  in_saved_.erase(found);
}

void FlipGuard::went_back(std::int64_t from, std::int64_t done, bool hides_flips) {
  ++report_.restores;
  report_.steps_repeated += done - from;
  hidden_ = hides_flips;
}

}  // namespace trainyard
