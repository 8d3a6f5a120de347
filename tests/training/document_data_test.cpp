// Tests the stream of packed and padded documents, and the data that are read from it.
#include "core/training/data/document_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/model/zoo/builders.h"
#include "core/training/data/data_sources.h"
#include "core/training/model_inputs.h"

namespace trainyard {
namespace {

using Document = DocumentStream::Document;

std::shared_ptr<const PackedSamples> plan_of(bool packed) {
  const std::vector<std::int64_t> lengths = {1, 6, 2, 4, 3, 5};
  return std::make_shared<const PackedSamples>(packed ? packed_samples(lengths, 8)
                                                      : padded_samples(lengths, 8));
}

Batch steps_of(std::int64_t global, std::int64_t micro = 1) { return {global, micro, 8}; }

TEST(DocumentStream, AnEpochHasEveryDocumentOnceAndTheNextOneHasOthers) {
  for (const bool packed : {true, false}) {
    const DocumentStream stream(plan_of(packed), steps_of(3), 7);
    const auto samples = static_cast<std::int64_t>(stream.plan().samples.size());
    std::set<std::int64_t> numbers;
    for (std::int64_t s = 0; s < 2 * samples; ++s) {
      std::int64_t position = 0;
      for (const Document& one : stream.documents(s)) {
        EXPECT_TRUE(numbers.insert(one.number).second);
        EXPECT_EQ(one.number / 6, s / samples);
        EXPECT_EQ(one.first, position);
        EXPECT_EQ(one.length, stream.plan().lengths[static_cast<std::size_t>(one.number % 6)]);
        position += one.length;
      }
      EXPECT_LE(position, 8);
    }
    EXPECT_EQ(numbers.size(), 12u);
  }
}

TEST(DocumentStream, TheSeedDecidesTheOrderOfSamples) {
  const auto first_lengths = [](std::uint64_t seed) {
    const DocumentStream stream(plan_of(false), steps_of(3), seed);
    std::vector<std::int64_t> list;
    for (std::int64_t s = 0; s < 6; ++s) list.push_back(stream.documents(s)[0].length);
    return list;
  };
  EXPECT_EQ(first_lengths(1), first_lengths(1));
  EXPECT_NE(first_lengths(1), first_lengths(2));
}

// The tokens of a step are counted once, however it is divided into microbatches.
TEST(DocumentStream, LossesDivideByTheTokensOfAnAverageMicrobatch) {
  const DocumentStream stream(plan_of(false), steps_of(6, 2), 7);
  for (const std::int64_t first : {0, 2, 4})
    EXPECT_DOUBLE_EQ(stream.bounds(first, 2, 8).counted, 21.0 / 3);
  EXPECT_DOUBLE_EQ(stream.bounds_alone(0, 6).counted, 21);
  const DocumentBounds bounds = stream.bounds(0, 2, 8);
  ASSERT_EQ(bounds.begins.size(), 16u);
  for (std::int64_t s = 0; s < 2; ++s) {
    const Document one = stream.documents(s)[0];
    for (std::int64_t t = 0; t < 8; ++t) {
      EXPECT_EQ(bounds.begin(s, t), t < one.length ? 0 : t);
      EXPECT_EQ(bounds.end(s, t), t < one.length ? one.length : t);
    }
  }
}

Model reader() {
  TransformerSpec spec = family_spec("gpt2");
  spec.layers = 1, spec.hidden = 4, spec.heads = 2, spec.ffn = 4, spec.vocab = 128;
  spec.sequence = 8;
  return build_decoder(spec);
}

std::unique_ptr<DataSource> text() {
  std::string characters;
  for (int i = 0; i < 400; ++i) characters += static_cast<char>('a' + i * i % 26);
  return text_data("letters", characters, "made by the test", 3);
}

std::vector<std::int64_t> read(const DataSource& source, const Model& model, InputRole role,
                               std::int64_t first, std::int64_t samples, std::int64_t tokens,
                               std::int64_t first_token = 0) {
  for (const ModelInput& input : model_inputs(model)) {
    if (input.role != role) continue;
    const bool each = has_axis(input.in_graph(), Axis::Batch);
    const std::vector<std::int64_t> shape = {tokens, each ? samples : 1};
    std::vector<std::int64_t> values(static_cast<std::size_t>(tokens * shape[1]));
    source.fill({.model = model,
                 .graph = input.block->graph,
                 .tensor = input.tensor,
                 .shape = shape,
                 .first_sample = first,
                 .first_token = first_token},
                std::span(values));
    return values;
  }
  return {};
}

TEST(DocumentData, ADocumentIsTheBeginningOfASampleOfTheText) {
  const Model model = reader();
  const auto letters = text();
  const DocumentStream stream(plan_of(true), steps_of(3), 7);
  const auto documents = document_data(*letters, stream);
  EXPECT_TRUE(documents->check(model).empty());
  for (const InputRole role : {InputRole::Rows, InputRole::Labels}) {
    const std::vector<std::int64_t> all = read(*documents, model, role, 0, 3, 8);
    ASSERT_EQ(all.size(), 24u);
    for (std::int64_t s = 0; s < 3; ++s) {
      std::vector<std::int64_t> wanted;
      for (const Document& one : stream.documents(s))
        for (const std::int64_t value : read(*letters, model, role, one.number, 1, one.length))
          wanted.push_back(value);
      wanted.resize(8, role == InputRole::Labels ? kPaddingLabel : 0);
      for (std::int64_t t = 0; t < 8; ++t)
        EXPECT_EQ(all[static_cast<std::size_t>(t * 3 + s)], wanted[static_cast<std::size_t>(t)]);
    }
  }
}

TEST(DocumentData, PositionsBeginAt0InEveryDocument) {
  const Model model = reader();
  const auto letters = text();
  const DocumentStream stream(plan_of(true), steps_of(3), 7);
  const auto documents = document_data(*letters, stream);
  for (std::int64_t s = 0; s < 3; ++s) {
    std::vector<std::int64_t> wanted;
    for (const Document& one : stream.documents(s))
      for (std::int64_t t = 0; t < one.length; ++t) wanted.push_back(t);
    wanted.resize(8, 0);
    EXPECT_EQ(read(*documents, model, InputRole::Positions, s, 1, 8), wanted);
  }
  const auto alone = document_data(*letters, DocumentStream(plan_of(false), steps_of(3), 7));
  EXPECT_EQ(read(*alone, model, InputRole::Positions, 0, 3, 4, 2),
            (std::vector<std::int64_t>{2, 3, 4, 5}));
}

TEST(DocumentData, PartsOfASequenceArePartsOfItsDocuments) {
  const Model model = reader();
  const auto letters = text();
  const auto documents = document_data(*letters, DocumentStream(plan_of(true), steps_of(3), 7));
  const std::vector<std::int64_t> all = read(*documents, model, InputRole::Rows, 0, 3, 8);
  for (std::int64_t first = 0; first < 8; ++first)
    for (std::int64_t tokens = 1; tokens <= 8 - first; ++tokens)
      EXPECT_TRUE(
          std::equal(all.begin() + first * 3, all.begin() + (first + tokens) * 3,
                     read(*documents, model, InputRole::Rows, 0, 3, tokens, first).begin()));
}

TEST(DocumentData, SaysWhatItIsMadeOf) {
  const auto letters = text();
  const auto documents = document_data(*letters, DocumentStream(plan_of(true), steps_of(3), 7));
  EXPECT_EQ(documents->content(), letters->content() + " in 6 documents of 3 samples");
  EXPECT_EQ(documents->samples(), letters->samples() / 2);
}

}  // namespace
}  // namespace trainyard
