#include "backends/cpu/execution/numbers/flip_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

constexpr int kByte = 8;

}  // namespace

bool FlipGuard::flips(FlipClass of) const {
  const BitFlips& s = settings();
  return s.rate(of) > 0 && (s.at == 0 || s.at == step_ + 1);
}

void FlipGuard::begin_step(std::int64_t step) {
  step_ = step;
  ++begun_[step];
  ++report_.steps;
  flipped_.clear(), unseen_.clear(), named_.clear(), largest_now_.clear();
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
                      key.tensor,
                      key.microbatch};
  std::vector<BitFlip> drawn =
      drawn_flips(draw, settings().rate(key.of), elements, bits_of(settings().part, type));
  const auto injected = static_cast<std::int64_t>(drawn.size());
  counts(key.of).injected += injected;
  if (injected == 0) return at->second;
  std::int64_t known = 0;
  if (settings().corrects(key.of)) {
    AfterEcc after = after_ecc(drawn, bytes_of(type) * kByte);
    counts(key.of).corrected += after.corrected;
    drawn = std::move(after.left);
    known = after.detected;
  }
  at->second = std::move(drawn);
  if (at->second.empty()) return at->second;
  any_left_ = true;
  unseen_[key] = static_cast<std::int64_t>(at->second.size());
  if (known == 0) return at->second;
  unseen_[key] -= known;
  counts(key.of).detected += known;
  raise(FlipDetector::Ecc, nullptr,
        fmt::format("{} bits of the {} flipped two in a word, which its code detects and cannot "
                    "correct",
                    known, name));
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
  const auto own = flipped_.find(*key);
  if (own == flipped_.end() || own->second.empty()) return find_all();
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
    raise(FlipDetector::Checksum, &key,
          fmt::format("the {} is not what it was when it was written: the sum of its bits differs",
                      name));
  if (!settings().ranges) return;
  double& most = largest_now_[{key.of, key.tensor}];
  most = std::max(most, now.largest);
  const auto earlier = largest_.find({key.of, key.tensor});
  const double limit = earlier == largest_.end() ? INFINITY : settings().range * earlier->second;
  if (now.finite && (limit == 0 || now.largest <= limit)) return;
  raise(FlipDetector::Range, &key,
        now.finite ? fmt::format("the {} has a number of the size {:.3g}, and its largest was "
                                 "{:.3g} before",
                                 name, now.largest, limit / settings().range)
                   : fmt::format("the {} has a number that is not finite", name));
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
