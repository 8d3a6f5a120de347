#include "visualizers/viewmodel/span_query.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "visualizers/drawing/palette.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

SpanFacts reduce_of(std::int64_t device, Duration length) {
  return {"all-reduce gradients", static_cast<std::uint8_t>(Ink::Communication), device, 4, length};
}

bool finds(const char* words, const SpanFacts& span) {
  return matches(parse_span_query(words), span);
}

std::string refusal(const char* words) {
  return testing::refusal([&] { parse_span_query(words); });
}

TEST(SpanQuery, EveryWordMustHold) {
  const char* words = "cat:comm dev:3 name:allreduce >5ms";
  EXPECT_TRUE(finds(words, reduce_of(3, 6ms)));
  EXPECT_FALSE(finds(words, reduce_of(3, 5ms)));
  EXPECT_FALSE(finds(words, reduce_of(2, 6ms)));
  EXPECT_FALSE(finds(words, {"forward", 0, 3, 4, 6ms}));
  EXPECT_TRUE(finds("", reduce_of(0, 0ms)));
  EXPECT_TRUE(finds("  ", reduce_of(0, 0ms)));
}

TEST(SpanQuery, NamesDoNotMindCaseSpacesAndHyphens) {
  for (const char* words : {"allreduce", "All-Reduce", "\"all reduce\"", "name:all_reduce",
                            "name:\"reduce grad\"", "gradients all"})
    EXPECT_TRUE(finds(words, reduce_of(0, 1ms))) << words;
  EXPECT_FALSE(finds("allgather", reduce_of(0, 1ms)));
  EXPECT_FALSE(finds("-allreduce", reduce_of(0, 1ms)));
  EXPECT_TRUE(finds("-allgather", reduce_of(0, 1ms)));
}

TEST(SpanQuery, RangesAndLengthsIncludeWhatTheySay) {
  for (int device = 0; device < 10; ++device) {
    EXPECT_EQ(finds("dev:0-3,7", reduce_of(device, 1ms)), device <= 3 || device == 7) << device;
    EXPECT_EQ(finds("-dev:0-3,7", reduce_of(device, 1ms)), device > 3 && device != 7) << device;
  }
  EXPECT_TRUE(finds("mb:4 >=1ms <=1ms", reduce_of(0, 1ms)));
  EXPECT_FALSE(finds(">1ms", reduce_of(0, 1ms)));
  EXPECT_FALSE(finds("<1ms", reduce_of(0, 1ms)));
  EXPECT_TRUE(finds("cat:f,w,comm", reduce_of(0, 1ms)));
  EXPECT_FALSE(finds("cat:f,w", reduce_of(0, 1ms)));
}

TEST(SpanQuery, WrongWordsGetASentence) {
  const std::pair<const char*, const char*> wrong[] = {{"cat:comunication", "communication"},
                                                       {"cat:", "expected a category"},
                                                       {"dve:3", "did you mean \"dev\""},
                                                       {"dev:x", "0-3,7"},
                                                       {"dev:3-1", "1-3"},
                                                       {"dev:9999999999", "expected numbers"},
                                                       {">5", ">5"},
                                                       {">", ">"},
                                                       {"\"open", "closing quote"},
                                                       {"name:", "part of a name"},
                                                       {"-", "part of a name"},
                                                       {"forward >5 ms", ">5"}};
  for (const auto& [words, sentence] : testing::non_empty(wrong))
    EXPECT_NE(refusal(words).find(sentence), std::string::npos) << words << ": " << refusal(words);
}

TEST(SpanQuery, TextReadsBackAsTheSameQuery) {
  EXPECT_TRUE(rc::check([] {
    static const std::vector<std::string> kWords = {
        "cat:comm", "-cat:forward,opt", "dev:3", "-dev:0-3,7", "mb:12", "name:Mlp_up", "\"a b\"",
        "->5ms",    "<=1.25us",         ">=3s",  "-name:x:y"};
    std::string text;
    for (const int word : *rc::gen::container<std::vector<int>>(
             rc::gen::inRange(0, static_cast<int>(kWords.size()))))
      text += kWords[static_cast<std::size_t>(word)] + " ";
    const SpanQuery query = parse_span_query(text);
    RC_ASSERT(parse_span_query(to_text(query)) == query);
  }));
}

}  // namespace
}  // namespace trainyard
