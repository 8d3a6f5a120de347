#include "core/io/json/json_tokens.h"

#include <gtest/gtest.h>

#include "core/io/bytes/limits.h"
#include "tests/support/trickle.h"

namespace trainyard {
namespace {

// "{ k:name t:gemm } " and where it ends: "3:17 " and the fault, if any.
std::string tokens_text(std::string_view text, std::size_t most = 1 << 20) {
  using Token = JsonTokens::Token;
  Trickle bytes(text, most);
  const TraceImportOptions options;
  JsonTokens tokens(bytes, options);
  std::string out;
  for (Token token = tokens.next(); token != Token::End; token = tokens.next()) {
    constexpr const char* kSigns[] = {"{", "}", "[", "]", "k:", "t:", "n:", "w:"};
    out += kSigns[static_cast<std::size_t>(token)];
    if (token >= Token::Key) out += tokens.text();
    out += ' ';
  }
  out += std::to_string(tokens.line()) + ":" + std::to_string(tokens.offset());
  if (!tokens.fault().empty()) out += " " + tokens.fault();
  return out;
}

TEST(JsonTokens, AreReadInOrderWithTheirPlaces) {
  EXPECT_EQ(tokens_text("{\"a\": [1, -2.5e+3, \"x y\"],\n \"b\" :{},\"c\":null}\nrest"),
            "{ k:a [ n:1 n:-2.5e+3 t:x y ] k:b { } k:c w:null } 2:45");
  for (const std::size_t most : {1, 100})
    EXPECT_EQ(tokens_text("\xEF\xBB\xBF[true,false,]", most), "[ w:true w:false ] 1:16");
  EXPECT_EQ(tokens_text("[NaN,-Infinity,{\"a\":0,}]"), "[ n:NaN n:-Infinity { k:a n:0 } ] 1:24");
  EXPECT_EQ(tokens_text(" 7 "), "n:7 1:2");
}

TEST(JsonTokens, EscapesBecomeWhatTheyMean) {
  EXPECT_EQ(tokens_text(R"(["a\"\\\/\n\tz","\u0041\u00e9\u20AC\ud83d\ude00"])"),
            "[ t:a\"\\/\n\tz t:A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 ] 1:49");
  // Unpaired surrogates.
  EXPECT_EQ(tokens_text(R"(["\ud83d!","\ude00","\ud83d\n","\ud83d\u0041","\ud83d\ud83d\ude00"])"),
            "[ t:?! t:? t:?\n t:?A t:?\xF0\x9F\x98\x80 ] 1:67");
}

TEST(JsonTokens, WhatIsNoJsonIsNamedWhereItStands) {
  EXPECT_EQ(tokens_text(""), "1:0 nothing");
  EXPECT_EQ(tokens_text("{\"a\" 1}"), "{ k:a 1:5 no colon behind a key");
  EXPECT_EQ(tokens_text("{a:1}"), "{ 1:1 no key in quotes");
  EXPECT_EQ(tokens_text("[1 2]"), "[ n:1 1:3 no comma or bracket behind a value");
  EXPECT_EQ(tokens_text("[1}"), "[ n:1 1:2 the other kind of bracket");
  EXPECT_EQ(tokens_text("[,1]"), "[ 1:1 no value");
  EXPECT_EQ(tokens_text("[yes]"), "[ 1:4 neither a number nor a word of JSON");
  EXPECT_EQ(tokens_text("[\"a\nb\"]"), "[ 1:3 a control character in a text");
  EXPECT_EQ(tokens_text("[\"\\x\"]"), "[ 1:4 an escape that JSON does not have");
  EXPECT_EQ(tokens_text("[\"\\u00g0\"]"), "[ 1:7 an escape that JSON does not have");
  EXPECT_EQ(tokens_text("[1,"), "[ n:1 1:3 the end of the file");
  EXPECT_EQ(tokens_text("[\"a"), "[ 1:3 the end of the file");
  for (const char* text : {"01", "1.", ".5", "-", "+1", "1e", "1e+", "0x1", "1.5.2", "--1"})
    EXPECT_FALSE(tokens_text(text).starts_with("n:")) << text;
  EXPECT_EQ(tokens_text(std::string(kDeepestNesting, '[')).find("too many"), std::string::npos);
  EXPECT_NE(tokens_text(std::string(kDeepestNesting + 1, '[')).find("too many"), std::string::npos);
}

TEST(JsonTokens, PassesOverAValueWhole) {
  Trickle bytes(R"([{"a":[1,{"b":"]"}],"c":2},3])", 4);
  const TraceImportOptions options;
  JsonTokens tokens(bytes, options);
  tokens.next();
  tokens.pass(tokens.next());
  EXPECT_EQ(tokens.next(), JsonTokens::Token::Number);
  EXPECT_EQ(tokens.text(), "3");
  tokens.pass(JsonTokens::Token::Number);
  EXPECT_EQ(tokens.next(), JsonTokens::Token::ListEnd);
}

// The result does not depend on how the bytes arrive, even in the middle of an escape or in a text
// longer than a block.
TEST(JsonTokens, BlocksLeaveNoTrace) {
  const std::string whole = "{\"k\\u00e9y\": [\"\\ud83d\\ude00 text\", -1.25e-3, true,\n\"" +
                            std::string(300'000, 'x') + "\\n" + std::string(600'000, 'y') + "\"]} ";
  const std::string expected = tokens_text(whole, whole.size());
  EXPECT_NE(expected.find(std::string(300'000, 'x') + "\n" + std::string(600'000, 'y')),
            std::string::npos);
  for (const std::size_t most : {1, 2, 3, 5, 1000, 262'143})
    EXPECT_EQ(tokens_text(whole, most), expected) << most;
  for (std::size_t cut = 0; cut < 60; ++cut) {
    const std::string_view part = std::string_view(whole).substr(0, cut);
    const std::string found = tokens_text(part);
    EXPECT_EQ(tokens_text(part, 1), found);
    EXPECT_TRUE(found.ends_with(cut == 0 ? "nothing" : "the end of the file")) << found;
  }
}

}  // namespace
}  // namespace trainyard
