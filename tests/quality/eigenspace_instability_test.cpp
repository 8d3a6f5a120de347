// Tests the instability of embedding tables against its definition with n x n matrices, and against
// what it is to foretell: how many predictions of models on top of two tables differ (B-MOD-07).
#include "core/quality/eigenspace_instability.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/drawn_normal.h"
#include "core/base/singular_values.h"
#include "core/training/lossy_weights.h"
#include "core/validation/rank_correlation.h"

namespace trainyard {
namespace {

struct Table {
  std::int64_t rows = 0, width = 0;
  std::vector<float> numbers = {};
  EmbeddingTable view() const { return {rows, width, numbers}; }
};

Table random_table(std::int64_t rows, std::int64_t width, std::uint64_t seed) {
  Table table{rows, width};
  const Random random(seed);
  for (std::int64_t i = 0; i < rows * width; ++i)
    table.numbers.push_back(
        static_cast<float>(drawn_normal(random, static_cast<std::uint64_t>(i))));
  return table;
}

using Square = std::vector<std::vector<double>>;

Square square(std::size_t n) { return Square(n, std::vector<double>(n)); }

Square times(const Square& a, const Square& b) {
  Square c = square(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

double trace(const Square& a) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i][i];
  return sum;
}

// U f(S) U^T of a table's decomposition.
template <class F>
Square outer(const Table& table, F f) {
  const SingularValues svd = singular_values(
      table.rows, table.width, std::vector<double>(table.numbers.begin(), table.numbers.end()));
  Square made = square(static_cast<std::size_t>(table.rows));
  for (std::size_t i = 0; i < made.size(); ++i)
    for (std::size_t j = 0; j < made.size(); ++j)
      for (std::int64_t c = 0; c < svd.rank; ++c) {
        const auto left = [&](std::size_t row) {
          return svd.left[row * static_cast<std::size_t>(svd.rank) + static_cast<std::size_t>(c)];
        };
        made[i][j] += left(i) * left(j) * f(svd.values[static_cast<std::size_t>(c)]);
      }
  return made;
}

double by_definition(const Table& x, const Table& y, const Table& e, const Table& f, double a) {
  const auto one = [](double) { return 1.0; };
  const auto power = [a](double s) { return std::pow(s, 2 * a); };
  const Square u = outer(x, one), v = outer(y, one);
  Square sigma = outer(e, power);
  const Square more = outer(f, power);
  Square inside = square(u.size());
  const Square both = times(v, u);
  for (std::size_t i = 0; i < u.size(); ++i)
    for (std::size_t j = 0; j < u.size(); ++j) {
      sigma[i][j] += more[i][j];
      inside[i][j] = u[i][j] + v[i][j] - 2 * both[i][j];
    }
  return trace(times(inside, sigma)) / trace(sigma);
}

RC_GTEST_PROP(EigenspaceInstability, IsThatOfItsDefinition, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(6, 24);
  const auto width = [&] { return *rc::gen::inRange<std::int64_t>(1, rows - 2); };
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 100'000);
  const Table x = random_table(rows, width(), seed), y = random_table(rows, width(), seed + 1),
              e = random_table(rows, width(), seed + 2), f = random_table(rows, width(), seed + 3);
  const double found = eigenspace_instability(x.view(), y.view(), e.view(), f.view());
  RC_ASSERT(std::abs(found - by_definition(x, y, e, f, kAnchorExponent)) <= 1e-8);
}

TEST(EigenspaceInstability, IsZeroForOneSpaceHoweverItIsTurned) {
  const Table x = random_table(50, 4, 3);
  Table turned = x;  // columns mixed by a matrix that can be undone
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* const from = x.numbers.data() + row * 4;
    float* const to = turned.numbers.data() + row * 4;
    to[0] = from[0] + from[1], to[1] = from[0] - from[1], to[2] = 3 * from[3], to[3] = from[2];
  }
  EXPECT_NEAR(eigenspace_instability(x.view(), x.view(), x.view(), x.view()), 0, 1e-12);
  EXPECT_NEAR(eigenspace_instability(x.view(), turned.view(), x.view(), turned.view()), 0, 1e-6);
}

TEST(EigenspaceInstability, IsOneForSpacesWithNothingInCommonAndZeroForNothing) {
  Table x{4, 2, {1, 0, 0, 1, 0, 0, 0, 0}}, y{4, 2, {0, 0, 0, 0, 1, 0, 0, 1}};
  EXPECT_NEAR(eigenspace_instability(x.view(), y.view(), x.view(), y.view()), 1, 1e-12);
  const Table nothing{4, 2, std::vector<float>(8)};
  EXPECT_EQ(eigenspace_instability(nothing.view(), nothing.view(), nothing.view(), nothing.view()),
            0);
}

// Embeddings of words from what two corpora saw of them: one hidden table of word by context, whose
// topics matter less by a power law as those of text do, each time with other noise, decomposed,
// cut to a width and rounded to some bits.
constexpr std::int64_t kWords = 400, kContexts = 64, kTopics = 24, kTasks = 20;

double topic_of(std::int64_t word, std::int64_t topic) {
  constexpr double kPower = 0.5;
  return drawn_normal(Random(11), static_cast<std::uint64_t>(word * kTopics + topic)) *
         std::pow(1.0 + static_cast<double>(topic), -kPower);
}

SingularValues corpus(double noise, std::uint64_t seed) {
  const Random of_context(12), drawn(seed);
  std::vector<double> counts(static_cast<std::size_t>(kWords * kContexts));
  for (std::int64_t w = 0; w < kWords; ++w)
    for (std::int64_t t = 0; t < kTopics; ++t) {
      const double topic = topic_of(w, t);
      for (std::int64_t c = 0; c < kContexts; ++c)
        counts[static_cast<std::size_t>(w * kContexts + c)] +=
            topic * drawn_normal(of_context, static_cast<std::uint64_t>(c * kTopics + t));
    }
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += noise * drawn_normal(drawn, i);
  return singular_values(kWords, kContexts, counts);
}

Table embedding_of(const SingularValues& svd, std::int64_t width, int bits) {
  Table table{kWords, width};
  for (std::int64_t w = 0; w < kWords; ++w)
    for (std::int64_t c = 0; c < width; ++c)
      table.numbers.push_back(
          static_cast<float>(svd.left[static_cast<std::size_t>(w * svd.rank + c)] *
                             std::sqrt(svd.values[static_cast<std::size_t>(c)])));
  if (bits < 32) round_to_bits(bits, 0, {kWords, width, 1}, table.numbers);
  return table;
}

// By task and word: the side of a hidden direction of the topics, seen with some noise.
std::vector<std::vector<double>> labels_of_tasks() {
  std::vector<std::vector<double>> all;
  for (std::int64_t task = 0; task < kTasks; ++task) {
    const Random direction(100 + static_cast<std::uint64_t>(task)),
        noise(200 + static_cast<std::uint64_t>(task));
    std::vector<double>& labels = all.emplace_back();
    for (std::int64_t w = 0; w < kWords; ++w) {
      double sum = 0.3 * drawn_normal(noise, static_cast<std::uint64_t>(w));
      for (std::int64_t t = 0; t < kTopics; ++t)
        sum += topic_of(w, t) * drawn_normal(direction, static_cast<std::uint64_t>(t));
      labels.push_back(sum > 0 ? 1 : -1);
    }
  }
  return all;
}

// What ridge regressions on every second word answer on the other words, of all tasks.
std::vector<bool> predictions(const Table& table, const std::vector<std::vector<double>>& tasks) {
  constexpr double kRidge = 1;
  std::vector<double> trained;
  for (std::int64_t w = 0; w < kWords; w += 2)
    for (std::int64_t c = 0; c < table.width; ++c)
      trained.push_back(table.numbers[static_cast<std::size_t>(w * table.width + c)]);
  const SingularValues svd = singular_values(kWords / 2, table.width, trained);
  std::vector<bool> signs;
  for (const std::vector<double>& labels : tasks) {
    std::vector<double> weights(static_cast<std::size_t>(table.width));
    for (std::int64_t k = 0; k < svd.rank; ++k) {
      double along = 0;
      for (std::int64_t i = 0; i < svd.rows; ++i)
        along += svd.left[static_cast<std::size_t>(i * svd.rank + k)] *
                 labels[static_cast<std::size_t>(2 * i)];
      const double s = svd.values[static_cast<std::size_t>(k)];
      for (std::int64_t c = 0; c < table.width; ++c)
        weights[static_cast<std::size_t>(c)] +=
            svd.right[static_cast<std::size_t>(c * svd.rank + k)] * along * s / (s * s + kRidge);
    }
    for (std::int64_t w = 1; w < kWords; w += 2) {
      double sum = 0;
      for (std::int64_t c = 0; c < table.width; ++c)
        sum += table.numbers[static_cast<std::size_t>(w * table.width + c)] *
               weights[static_cast<std::size_t>(c)];
      signs.push_back(sum > 0);
    }
  }
  return signs;
}

struct Retrained {
  std::int64_t width = 0;
  int bits = 0;
  double instability = 0, disagreement = 0;
  std::int64_t memory() const { return width * bits; }
};

std::vector<Retrained> retrain(double noise) {
  const SingularValues a = corpus(noise, 1), b = corpus(noise, 2);
  const Table anchor = embedding_of(a, 48, 32), other_anchor = embedding_of(b, 48, 32);
  const std::vector<std::vector<double>> tasks = labels_of_tasks();
  std::vector<Retrained> all;
  for (const std::int64_t width : {4, 8, 16, 32})
    for (const int bits : {2, 3, 4, 8}) {
      const Table x = embedding_of(a, width, bits), y = embedding_of(b, width, bits);
      Retrained one{width, bits,
                    eigenspace_instability(x.view(), y.view(), anchor.view(), other_anchor.view())};
      const std::vector<bool> by_x = predictions(x, tasks), by_y = predictions(y, tasks);
      for (std::size_t i = 0; i < by_x.size(); ++i) one.disagreement += by_x[i] != by_y[i] ? 1 : 0;
      one.disagreement /= static_cast<double>(by_x.size());
      all.push_back(one);
    }
  return all;
}

// B-MOD-07. Where noise is small beside few topics that outweigh all others, both figures are small
// and their order is less sure: topics by 1 / t and noise of 0.3 have a correlation of 0.68.
TEST(EigenspaceInstability, ForetellsHowManyPredictionsDiffer) {
  for (const double noise : {0.7, 1.5}) {
    const std::vector<Retrained> all = retrain(noise);
    ASSERT_GE(all.size(), 12u);
    std::vector<double> found, measured;
    for (const Retrained& one : all)
      found.push_back(one.instability), measured.push_back(one.disagreement);
    EXPECT_GE(rank_correlation(found, measured), 0.7) << noise;
    // Of all tables of one size in bytes, that with the least instability is nearly the best.
    for (const std::int64_t budget : {32, 64}) {
      std::vector<Retrained> within;
      for (const Retrained& one : all)
        if (one.memory() == budget) within.push_back(one);
      ASSERT_GE(within.size(), 3u) << budget;
      const auto chosen = std::min_element(
          within.begin(), within.end(),
          [](const Retrained& a, const Retrained& b) { return a.instability < b.instability; });
      const auto best = std::min_element(
          within.begin(), within.end(),
          [](const Retrained& a, const Retrained& b) { return a.disagreement < b.disagreement; });
      EXPECT_LE(chosen->disagreement, 1.1 * best->disagreement) << noise << " " << budget;
    }
  }
}

}  // namespace
}  // namespace trainyard
