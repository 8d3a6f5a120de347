// A formula reads as arithmetic does, and the gradients that a model's author gives it are held
// against central differences (B-MOD-09: to 1e-4 in double precision).
#include "core/model/formula.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/model/edit.h"
#include "core/model/fields.h"
#include "core/model/gradient_check.h"
#include "core/model/graph_builder.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

double value_at(std::string_view text, double x, double second = 0) {
  const std::array numbers{x, second};
  return value_formula(text, 2)(numbers);
}

TEST(Formula, IsArithmeticWithItsUsualPrecedence) {
  EXPECT_EQ(value_at("1 + 2 * 3 - 4 / 8", 0), 6.5);
  EXPECT_EQ(value_at("-x * -(x - 1)", 3), 6);
  EXPECT_EQ(value_at("2 - 3 - 4", 0), -5);
  EXPECT_EQ(value_at("16 / 4 / 2", 0), 2);
  EXPECT_EQ(value_at("x * (abs(x) <= 1) + 1e-1", 0.5), 0.6);
  EXPECT_EQ(value_at("x * (abs(x) <= 1) + .5", 2), 0.5);
  EXPECT_EQ(value_at("clamp(x0, -1, 1) + max(x1, 2) - min(x1, 2)", -7, 3), 0);
  EXPECT_EQ(value_at("round(x) + floor(x) + ceil(x) + sign(x)", 2.5), 2 + 2 + 3 + 1);
  EXPECT_EQ(value_at("pow(x, 2) == x * x", 3), 1);
  EXPECT_EQ(value_at("(x > x1) + (x >= x1) + (x < x1)", 1, 1), 1);
  EXPECT_EQ(value_at("exp(log(x)) - sqrt(x * x)", 1), 0);
  EXPECT_EQ(value_at("tanh(x) + erf(x) + sin(x) + cos(x)", 0), 1);
}

TEST(Formula, KnowsWhatItReadsAndCountsItsOperations) {
  const Formula f = gradient_formula("dy * (1 - y * y)", 2);
  EXPECT_FALSE(f.reads(0));
  EXPECT_FALSE(f.reads(1));
  EXPECT_TRUE(f.reads(2));
  EXPECT_TRUE(f.reads(3));
  EXPECT_EQ(f.operations(), 3);
  EXPECT_EQ(f.text(), "dy * (1 - y * y)");
}

// A sum of products, written out, has the value that it has when it is computed.
TEST(Formula, HasTheValueOfWhatIsWritten) {
  EXPECT_TRUE(rc::check([] {
    std::string text = "0";
    double sum = 0;
    for (int i = *rc::gen::inRange(1, 12); i > 0; --i) {
      const int a = *rc::gen::inRange(-99, 99), b = *rc::gen::inRange(1, 99);
      const bool divide = *rc::gen::arbitrary<bool>(), less = *rc::gen::arbitrary<bool>();
      const double term = divide ? a / static_cast<double>(b) : a * static_cast<double>(b);
      sum = less ? sum - term : sum + term;
      text += std::string(less ? " - " : "+") + "(" + std::to_string(a) + (divide ? "/" : " *") +
              std::to_string(b) + ")";
    }
    RC_ASSERT(value_formula(text, 1)(std::array{0.0}) == sum);
  }));
}

// Whatever is typed is a formula or an error; nothing else happens.
TEST(Formula, ReadsOrRefusesAnyText) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("xy0123. +-*/()<>=,dabsminexp")));
    try {
      const Formula f = gradient_formula(text, 1);
      f(std::array{1.0, 2.0, 3.0});
    } catch (const Error& error) {
      RC_ASSERT(error.kind() == Error::Kind::InvalidInput);
    }
  }));
}

TEST(Formula, RefusesWithTheCharacterAndTheNearestName) {
  const auto refusal = [](const std::string& text) {
    return testing::refusal([&] { gradient_formula(text, 1); });
  };
  EXPECT_EQ(refusal("dy * (1 - z)"),
            "expected one of x0, y, dy at character 11 of \"dy * (1 - z)\", found \"z)\"; did you "
            "mean \"y\"?");
  EXPECT_EQ(refusal("dy *"),
            "expected a number, a name or \"(\" at character 5 of \"dy *\", found the end");
  EXPECT_EQ(refusal("tahn(x)"),
            "expected the name of a function at character 1 of \"tahn(x)\", found \"tahn(x)\"; did "
            "you mean \"tanh\"?");
  EXPECT_EQ(refusal("clamp(x, 1)"),
            "expected \",\" and 3 arguments of clamp at character 11 of \"clamp(x, 1)\", found "
            "\")\"");
  EXPECT_EQ(refusal("x 2"),
            "expected an operator or the end at character 3 of \"x 2\", found \"2\"");
  EXPECT_EQ(refusal(""),
            "expected a number, a name or \"(\" at character 1 of \"\", found the end");
  EXPECT_EQ(refusal("1e999"),
            "expected a number that doubles can hold at character 1 of \"1e999\", found \"1e999\"");
  EXPECT_EQ(refusal(std::string(401, '1')),
            "expected a formula of at most 400 characters, found 401");
  EXPECT_NE(refusal(std::string(50, '(')).find("fewer parentheses"), std::string::npos);
  // The value of an output is not known where the output is computed.
  EXPECT_EQ(testing::refusal([] { value_formula("y", 1); }),
            "expected one of x0 at character 1 of \"y\", found \"y\"");
}

std::vector<GradientVerdict> checked(std::string_view value,
                                     const std::vector<std::string_view>& gradients,
                                     bool intended = false) {
  GraphBuilder b;
  std::vector<TensorId> inputs;
  ElementFormulas formulas{value_formula(value, gradients.size()), {}, intended};
  for (const std::string_view gradient : gradients) {
    inputs.push_back(b.activation("in" + std::to_string(inputs.size()), {kBatch, whole(4)}));
    formulas.gradients.push_back(gradient_formula(gradient, gradients.size()));
  }
  add_formula(b.graph, "f", inputs, formulas);
  return check_gradients(b.graph, b.graph.nodes[0], "block");
}

TEST(GradientCheck, AgreesWithDerivativesToOneTenThousandth) {
  for (const auto& [value, gradient] :
       {std::pair{"tanh(x)", "dy * (1 - y * y)"}, std::pair{"x * x * x", "3 * dy * x * x"},
        std::pair{"x / (1 + exp(-x))", "dy * (1 + x * (1 - 1 / (1 + exp(-x)))) / (1 + exp(-x))"},
        std::pair{"max(x, 0)", "dy * (x > 0)"}, std::pair{"log(x)", "dy / x"}}) {
    const GradientVerdict found = checked(value, {gradient})[0];
    EXPECT_TRUE(found.agrees && found.holds()) << value << ": " << to_text(found);
    EXPECT_LE(found.largest, 1e-4);
    EXPECT_GT(found.points, 400);
  }
  // Negative numbers have no logarithm.
  EXPECT_GT(checked("log(x)", {"dy / x"})[0].left_out, 400);
}

// An error of a thousandth is found, in the input that has it.
TEST(GradientCheck, FindsWhatIsNotTheDerivative) {
  const auto found = checked("x * x1", {"dy * x1", "1.001 * dy * x"});
  EXPECT_TRUE(found[0].agrees);
  EXPECT_FALSE(found[1].agrees);
  EXPECT_FALSE(found[1].holds());
  EXPECT_EQ(found[1].input, "in1");
  EXPECT_NE(to_text(found[1]).find("is not the derivative: it gives "), std::string::npos);
  EXPECT_FALSE(checked("x", {"0 / 0"})[0].holds());
}

// A gradient reversal holds where the model says that it is intended, and only there.
TEST(GradientCheck, LetsAGradientDifferOnPurpose) {
  EXPECT_FALSE(checked("x", {"-0.1 * dy"})[0].holds());
  const GradientVerdict found = checked("x", {"-0.1 * dy"}, true)[0];
  EXPECT_TRUE(found.holds());
  EXPECT_FALSE(found.agrees);
  EXPECT_NE(to_text(found).find("differs, as intended, from the derivative"), std::string::npos);
}

TEST(GradientCheck, SaysWhereNothingCanBeCompared) {
  const GradientVerdict found = checked("sqrt(-1 - x * x)", {"dy"})[0];
  EXPECT_EQ(found.points, 0);
  EXPECT_FALSE(found.holds());
  EXPECT_EQ(to_text(found),
            "cannot be compared: at all 1000 points the value is not a number or has a kink");
}

// A formula of the output keeps the output alone; a straight-through estimator keeps nothing.
TEST(FormulaOp, KeepsWhatItsGradientsRead) {
  GraphBuilder b;
  const TensorId x = b.activation("x", {kBatch, whole(8)}), w = b.parameter("w", {whole(8)});
  const auto saved = [&](std::string_view value, std::string_view gradient) {
    const TensorId y =
        add_formula(b.graph, "f", {x}, {value_formula(value, 1), {gradient_formula(gradient, 1)}});
    const Binding binding{.micro_batch = 4};
    const Precision precision;
    std::string text;
    for (const Saved& s : formula_op().saved({b.graph, b.graph.nodes.back(), binding, precision}))
      text += s.tensor == x ? "x" : s.tensor == y ? "y" : "?";
    return text;
  };
  EXPECT_EQ(saved("tanh(x)", "dy * (1 - y * y)"), "y");
  EXPECT_EQ(saved("x * x", "2 * dy * x"), "x");
  EXPECT_EQ(saved("round(x)", "dy"), "");
  // The weight's gradient reads the input, the input's gradient does not.
  add_formula(b.graph, "g", {x, w},
              {value_formula("x * x1", 2),
               {gradient_formula("dy * x1", 2), gradient_formula("dy * x", 2)}});
  const Binding binding{.micro_batch = 4};
  const Precision precision;
  const LocalNode local{b.graph, b.graph.nodes.back(), binding, precision};
  const std::vector<Saved> kept = formula_op().saved(local);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_TRUE(kept[0].for_weight);
  EXPECT_FALSE(kept[0].for_input);
  // 32 elements of 2 bytes, 8 weights: forward reads x and w; each gradient is one product.
  const Work forward = formula_op().work(local, Pass::Forward),
             input = formula_op().work(local, Pass::BackwardInput),
             weight = formula_op().work(local, Pass::BackwardWeight);
  const std::int64_t each = bytes_of(precision.activation), tensor = 32 * each;
  EXPECT_EQ(forward.flops.value, 32);
  EXPECT_EQ(forward.read.value, tensor + 8 * bytes_of(precision.parameter));
  EXPECT_EQ(forward.written.value, tensor);
  EXPECT_EQ(input.flops.value, 32);
  EXPECT_EQ(input.read.value, tensor + 8 * bytes_of(precision.parameter));
  EXPECT_EQ(weight.flops.value, 64);  // products and their sum
  EXPECT_EQ(weight.read.value, 2 * tensor);
}

TEST(FormulaOp, RefusesInputsThatDoNotFit) {
  GraphBuilder b;
  const TensorId x = b.activation("x", {kBatch, {8, Axis::Ffn, 0}}),
                 other = b.activation("other", {kBatch, whole(4)}),
                 whole_weight = b.parameter("w", {whole(8)}), ids = b.index("ids", {kBatch});
  const auto refusal = [&](std::vector<TensorId> inputs, std::size_t gradients) {
    ElementFormulas formulas;
    formulas.gradients.resize(gradients);
    return testing::refusal([&] { add_formula(b.graph, "f", inputs, formulas); });
  };
  EXPECT_EQ(refusal({x}, 2), "f (formula): expected a gradient for each of its 1 inputs, found 2");
  EXPECT_EQ(refusal({x, x, x, x, x}, 5), "f (formula): expected 1 to 4 inputs, found 5");
  EXPECT_NE(refusal({x, other}, 2).find("found other [batch, 4]"), std::string::npos);
  EXPECT_NE(refusal({ids}, 1).find("expected an activation as its first input"), std::string::npos);
  // Tensor ranks divide x and would not divide the weight.
  EXPECT_NE(refusal({x, whole_weight}, 2).find("a parameter of the shape"), std::string::npos);
  EXPECT_THROW(b.graph.add("g", formula_op(), {x}), Error);
}

// The window's builder adds a formula that changes nothing, and its fields make it one's own.
TEST(ModelFields, FormulasAreTextWithAVerdict) {
  Model model = zoo_model("mlp-small");
  ModelPart part;
  model = with_building_block(model, "own-gradient", {1, 0}, &part);
  const auto value = [&](std::string_view key) {
    for (const ModelField& field : model_fields(model, part))
      if (field.key == key) return field.value;
    return std::string("no such field");
  };
  EXPECT_EQ(value("value"), "x");
  EXPECT_EQ(value("gradient 0"), "dy");
  EXPECT_EQ(value("intended"), "no");
  EXPECT_TRUE(value("check").starts_with("agrees with the derivative at 1000 points"));
  model = with_model_field(model, part, "gradient 0", "-dy");
  EXPECT_TRUE(value("check").starts_with("is not the derivative"));
  EXPECT_FALSE(check_gradients(model)[0].holds());
  model = with_model_field(model, part, "intended", "yes");
  EXPECT_TRUE(value("check").starts_with("differs, as intended"));
  EXPECT_TRUE(check_gradients(model)[0].holds());
  const std::string found =
      testing::refusal([&] { with_model_field(model, part, "value", "tahn(x)"); });
  EXPECT_NE(found.find("did you mean \"tanh\"?"), std::string::npos) << found;
}

}  // namespace
}  // namespace trainyard
