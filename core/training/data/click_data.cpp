// This file generates artificial clicks: numbers from the normal distribution, categories by Zipf's
// law, and clicks drawn from a logistic law of both. A recommender can learn all of it except the
// randomness of the draw.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/digest.h"
#include "core/base/drawn_normal.h"
#include "core/model/hot_rows.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

constexpr std::int64_t kClicks = std::int64_t{1} << 20, kEvaluation = 8192;
constexpr double kBase = -1;  // about a third of all samples are clicks
constexpr double kDenseEffect = 0.5, kRowEffect = 0.8;

// These are streams of random numbers, so that different kinds of draws are independent.
constexpr std::uint64_t kDense = 1, kRow = 2, kClick = 3, kDenseWeight = 4, kRowWeight = 5;

class Clicks final : public DataSource {
 public:
  explicit Clicks(const DataSeeds& seeds) : seeds_(seeds) {}

  std::string_view name() const override { return "clicks"; }
  std::string provenance() const override {
    return fmt::format(
        "clicks drawn from a logistic law of seed {}: normal numbers, categories by "
        "Zipf's law",
        seeds_.law);
  }
  std::int64_t samples() const override { return kClicks; }
  std::int64_t evaluation_samples() const override { return kEvaluation; }

  Diagnostics check(const Model& model) const override {
    Diagnostics found;
    bool numbers = false, labels = false;
    for (const ModelInput& input : model_inputs(model)) {
      const Tensor& tensor = input.in_graph();
      const bool by_sample = !tensor.shape.empty() && tensor.shape[0].axis == Axis::Batch;
      if (input.role == InputRole::Numbers && by_sample && tensor.shape.size() == 2 && !numbers) {
        numbers = true;
      } else if (input.role == InputRole::Labels && by_sample && tensor.shape.size() == 1 &&
                 !labels) {
        labels = true;
        if (input.limit != 2)
          found.push_back(unfit(model, fmt::format("a click is or is not, found a loss over {} "
                                                   "classes",
                                                   input.limit)));
      } else if (input.role != InputRole::Rows || !by_sample) {
        found.push_back(unfit(model,
                              fmt::format("clicks have numbers, categories and a label a sample "
                                          "and nothing for {} of shape {}",
                                          input.name(), to_text(tensor.shape)),
                              "--data random"));
      }
    }
    if (found.empty() && !(numbers && labels))
      found.push_back(unfit(model,
                            "expected a model that reads numbers and ends in a loss of one "
                            "logit",
                            "--data random"));
    return found;
  }

  void fill(const DataRequest& request, std::span<float> into) const override {
    each_element(request,
                 [&](std::size_t e, std::int64_t sample, std::int64_t, std::int64_t feature) {
                   into[e] = static_cast<float>(dense(place(request.evaluation, sample), feature));
                 });
  }

  void fill(const DataRequest& request, std::span<std::int64_t> into) const override {
    const ModelInput input = model_input(request);
    if (input.role == InputRole::Labels) {
      const Law law = law_of(request.model);
      each_element(request, [&](std::size_t e, std::int64_t sample, std::int64_t, std::int64_t) {
        const std::uint64_t at = place(request.evaluation, sample);
        into[e] = Random(seed_at(at), kClick).uniform(at) < chance(law, at) ? 1 : 0;
      });
      return;
    }
    const std::uint64_t table = digest(input.in_graph().name);
    each_element(request,
                 [&](std::size_t e, std::int64_t sample, std::int64_t, std::int64_t lookup) {
                   into[e] = row(place(request.evaluation, sample), table, lookup, input.limit);
                 });
  }

  double best_loss(const Model& model, std::int64_t count) const {
    const Law law = law_of(model);
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double p = chance(law, place(true, i));
      sum -= p * std::log(p) + (1 - p) * std::log(1 - p);
    }
    return sum / static_cast<double>(count);
  }

 private:
  struct Table {
    std::uint64_t id;
    std::int64_t rows, lookups;
  };
  struct Law {
    std::int64_t dense = 0;
    std::vector<Table> tables;
  };

  static Law law_of(const Model& model) {
    Law law;
    for (const ModelInput& input : model_inputs(model)) {
      const Shape& shape = input.in_graph().shape;
      if (input.role == InputRole::Numbers) law.dense = shape.back().size;
      if (input.role == InputRole::Rows)
        law.tables.push_back(
            {digest(input.in_graph().name), input.limit, shape.size() > 1 ? shape.back().size : 1});
    }
    return law;
  }

  // Evaluation has samples of its own, marked by a high bit.
  static std::uint64_t place(bool evaluation, std::int64_t sample) {
    return static_cast<std::uint64_t>(sample) | (evaluation ? std::uint64_t{1} << 62 : 0);
  }
  std::uint64_t seed_at(std::uint64_t place) const {
    return place >> 62 == 0 ? seeds_.order : seeds_.split.value_or(seeds_.law);
  }
  double dense(std::uint64_t at, std::int64_t feature) const {
    return drawn_normal(Random(Random(seed_at(at), kDense).bits(at)),
                        static_cast<std::uint64_t>(feature));
  }
  std::int64_t row(std::uint64_t at, std::uint64_t table, std::int64_t lookup,
                   std::int64_t rows) const {
    const double u = Random(Random(seed_at(at), kRow).bits(at), table)
                         .uniform(static_cast<std::uint64_t>(lookup));
    return zipf_row(u, rows, kClickZipf);
  }
  double chance(const Law& law, std::uint64_t at) const {
    double logit = kBase;
    const Random weights(seeds_.law, kDenseWeight);
    for (std::int64_t f = 0; f < law.dense; ++f)
      logit += kDenseEffect * drawn_normal(weights, static_cast<std::uint64_t>(f)) * dense(at, f);
    for (const Table& table : law.tables) {
      const Random rows(Random(seeds_.law, kRowWeight).bits(table.id));
      double effect = 0;
      for (std::int64_t lookup = 0; lookup < table.lookups; ++lookup)
        effect +=
            drawn_normal(rows, static_cast<std::uint64_t>(row(at, table.id, lookup, table.rows)));
      logit += kRowEffect * effect / static_cast<double>(table.lookups);
    }
    return 1 / (1 + std::exp(-logit));
  }

  DataSeeds seeds_;
};

}  // namespace

std::unique_ptr<DataSource> click_data(const DataSeeds& seeds) {
  return std::make_unique<Clicks>(seeds);
}

double best_click_loss(std::uint64_t seed, const Model& model, std::int64_t samples) {
  return Clicks(seed).best_loss(model, samples);
}

}  // namespace trainyard
