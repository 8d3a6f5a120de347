#include "core/lesson/expression.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "tests/support/refusal.h"

namespace trainyard {
namespace {

// Every setting evaluates to its number, plus its index.
class Given : public LessonQuantities {
 public:
  double quantity(std::string_view name, const LessonSettings& settings) const override {
    return parse_lesson_number(settings.at(std::string(name)), {});
  }
  double quantity(std::string_view name, double index, const LessonSettings& s) const override {
    return quantity(name == "peak_at" ? "n" : name, s) + index;
  }
};

double worth(const std::string& text, const LessonSettings& settings = {}) {
  return evaluate(Expression(text, {"test"}), Given(), settings);
}

std::string expression_refusal(const std::string& text) {
  return testing::refusal([&] { Expression(text, {"file:3"}); });
}

TEST(LessonExpression, BindsAsArithmeticDoes) {
  EXPECT_EQ(worth("1 + 2 * 3"), 7);
  EXPECT_EQ(worth("(1 + 2) * 3"), 9);
  EXPECT_EQ(worth("8 - 2 - 1"), 5);
  EXPECT_EQ(worth("-2 * 3 + 1"), -5);
  EXPECT_EQ(worth("1 + 1 == 2 and 2 < 1 or 3 >= 3"), 1);
  EXPECT_EQ(worth("sqrt(2 * 8) + max(1, min(5, 2))"), 6);
  EXPECT_EQ(worth("1e3 / 2"), 500);
}

TEST(LessonExpression, ReadsQuantitiesWithTheirUnits) {
  EXPECT_EQ(worth("'48MiB'"), 48.0 * 1024 * 1024);
  EXPECT_EQ(worth("'450GB/s'"), 450e9);
  EXPECT_EQ(worth("'312TFLOP/s'"), 312e12);
  EXPECT_NEAR(worth("'60s' + '1min'"), 120, 1e-9);
  EXPECT_EQ(worth("'25%'"), 0.25);
}

TEST(LessonExpression, AtChangesSettingsInsideItOnly) {
  EXPECT_EQ(worth("at('n=3', n) + n", {{"n", "1"}}), 4);
  EXPECT_EQ(worth("at('n=3', at('m=2', n * m))", {{"n", "1"}, {"m", "1"}}), 6);
  EXPECT_EQ(worth("peak_at(0.5)", {{"n", "2"}}), 2.5);
}

TEST(LessonExpression, RefusalsSayWhereAndWhat) {
  EXPECT_EQ(expression_refusal("1 +"),
            "file:3: expected a number, a name or \"(\" at character 4 of \"1 +\", found the end");
  EXPECT_EQ(expression_refusal("(1"),
            "file:3: expected \")\" at character 3 of \"(1\", found the end");
  EXPECT_NE(expression_refusal("1 2").find("expected an operator or the end"), std::string::npos);
  EXPECT_NE(expression_refusal("min(1)").find("expected 2 arguments of min, found 1"),
            std::string::npos);
  EXPECT_NE(expression_refusal("at(n, 1)").find("settings as 'key=value'"), std::string::npos);
  EXPECT_NE(expression_refusal(std::string(500, '1')).find("at most 400"), std::string::npos);
  EXPECT_NE(expression_refusal(std::string(200, '(')).find("fewer parentheses"), std::string::npos);
}

TEST(LessonExpression, FormulasAreThoseOfTheirPapers) {
  EXPECT_DOUBLE_EQ(worth("bus_factor(8)"), 1.75);
  EXPECT_NEAR(worth("best_interval(60, 11135)"), std::sqrt(2 * 60.0 * 11135), 1e-9);
  EXPECT_NEAR(worth("lost_time(60, 11135, 1156)"), 60.0 / 1156 + 1156.0 / (2 * 11135), 1e-12);
  // PipeMare's bound, found by running descent.
  for (const int delay : {1, 2, 5})
    EXPECT_NEAR(worth("stable_rate(" + std::to_string(delay) + ", 0, 0)") /
                    worth("stable_delay_rate(" + std::to_string(delay) + ")"),
                1, 0.01)
        << delay;
  EXPECT_LT(worth("delayed_loss(0.1, 0, 0, 0, 100)"), 1e-8);
  EXPECT_GT(worth("delayed_loss(0.3, 10, 0, 0, 400)"), 1);
}

TEST(LessonExpression, SumsAreSums) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& parts) {
    RC_PRE(parts.size() < 60);
    std::string text = "0";
    int sum = 0;
    for (const std::uint8_t part : parts) {
      text += " + " + std::to_string(part);
      sum += part;
    }
    RC_ASSERT(worth(text) == sum);
  }));
}

TEST(LessonSettings, AreWordsWithEquals) {
  EXPECT_EQ(to_text(parse_lesson_settings("b=2  a=x=y", {})), "a=x=y b=2");
  EXPECT_THROW(parse_lesson_settings("a", {}), Error);
  EXPECT_THROW(parse_lesson_settings("=1", {}), Error);
}

}  // namespace
}  // namespace trainyard
