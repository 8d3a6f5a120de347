// This file generates noise of any shape: numbers from [-1, 1), indices below the limit of their
// reader. Nothing but memorising can be learnt from it; it is for tests and for timing.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

constexpr std::int64_t kSamples = 1024;  // number of samples before they repeat

class RandomData final : public DataSource {
 public:
  explicit RandomData(std::uint64_t seed) : seed_(seed) {}

  std::string_view name() const override { return "random"; }
  std::string provenance() const override {
    return fmt::format("random numbers of seed {}", seed_);
  }
  std::int64_t samples() const override { return kSamples; }
  std::int64_t evaluation_samples() const override { return kSamples / 8; }
  std::optional<std::int64_t> stored_sample(std::int64_t position) const override {
    return position % kSamples;
  }
  Diagnostics check(const Model&) const override { return {}; }

  void fill(const DataRequest& request, std::span<float> into) const override {
    each(request, [&](std::size_t e, const Random& random, std::uint64_t index) {
      into[e] = static_cast<float>(2 * random.uniform(index) - 1);
    });
  }
  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    const ModelInput input = model_input(request);
    if (input.role == InputRole::Positions)
      return each_element(request,
                          [&](std::size_t e, std::int64_t, std::int64_t token, std::int64_t) {
                            into[e] = std::min(token, input.limit - 1);
                          });
    const std::int64_t last = std::max<std::int64_t>(input.limit, 1) - 1;
    each(request, [&](std::size_t e, const Random& random, std::uint64_t index) {
      into[e] = random.between(index, 0, last);
    });
  }

 private:
  template <class F>
  void each(const DataRequest& request, F&& f) const {
    const std::uint64_t tensor = digest(request.graph[request.tensor].name);
    each_element(
        request, [&](std::size_t e, std::int64_t sample, std::int64_t token, std::int64_t rest) {
          const auto at =
              static_cast<std::uint64_t>(sample % kSamples) * 2 + (request.evaluation ? 1 : 0);
          f(e, Random(seed_ ^ tensor, at),
            (static_cast<std::uint64_t>(token) << 32) + static_cast<std::uint64_t>(rest));
        });
  }

  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<DataSource> random_source(std::uint64_t seed) {
  return std::make_unique<RandomData>(seed);
}

}  // namespace trainyard
