#include "core/io/documents/calibration_json.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/ops.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Calibration example() {
  Calibration c;
  c.machine = "a core, oneDNN 2.6.3";
  Work product;
  product.kind = WorkKind::Product;
  product.kernel = kernel_of(matmul(), Pass::BackwardWeight);
  product.m = 784, product.n = 512, product.k = 64;
  product.flops = {51.380224e6};
  product.read = Bytes{333'824}, product.written = Bytes{1'605'632};
  c.kernels.push_back({.work = product, .time = 271us, .spread = 0.015, .repeats = 96});
  Work update;
  update.kind = WorkKind::Optimizer;
  update.read = Bytes{100}, update.written = Bytes{50};
  c.kernels.push_back({.work = update, .time = 3ns, .spread = 0, .repeats = 1});
  c.copy = {.start = 1500ns, .rate = {17e9}};
  c.reduce = {11e9};
  c.residual_median = 0.021, c.residual_worst = 0.064;
  c.notes = {"one thread"};
  return c;
}

std::string calibration_refusal(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) return "\"" + from + "\" is not there";
  text.replace(at, from.size(), to);
  return testing::refusal([&] { read_calibration(text, "c.json"); });
}

TEST(CalibrationJson, ReadsBackWhatItWrote) {
  const std::string text = write_calibration(example());
  const Calibration read = read_calibration(text, "c.json");
  EXPECT_EQ(write_calibration(read), text);
  ASSERT_EQ(read.kernels.size(), 2u);
  EXPECT_EQ(read.kernels[0].work, example().kernels[0].work);
  EXPECT_EQ(read.kernels[1].work, example().kernels[1].work);
  EXPECT_EQ(read.kernels[0].time, 271us);
  EXPECT_EQ(read.copy.rate, example().copy.rate);
}

TEST(CalibrationJson, RefusesWhatItDoesNotKnow) {
  const std::string text = write_calibration(example());
  EXPECT_EQ(calibration_refusal(text, "matmul weight gradient", "matmul weight gradent"),
            "c.json#/kernels/0/kernel: expected the name of a kernel, found \"matmul weight "
            "gradent\"; did you mean \"matmul weight gradient\"?");
  EXPECT_EQ(
      calibration_refusal(text, "\"17 GB/s\"", "17.25"),
      "c.json#/copy/rate: expected a bandwidth such as \"25 GB/s\", found \"17.25\", which has "
      "no unit: write 17.25 GB/s or 17.25 GiB/s");
  EXPECT_EQ(calibration_refusal(text, "\"spread\"", "\"spraed\""),
            "c.json#/kernels/0/spraed: unknown key \"spraed\"; did you mean \"spread\"?");
}

TEST(CalibrationJson, RefusesVariantsThatAKernelDoesNotHave) {
  Calibration c = example();
  c.variants = {{{VariantKernel::Product, {64, 40, 32, 1}}, kProductGemm, {3us, 2us, 0us}}};
  const std::string text = write_calibration(c);
  ASSERT_EQ(write_calibration(read_calibration(text, "c.json")), text);
  EXPECT_EQ(
      calibration_refusal(text, "\"usual\": \"gemm\"", "\"usual\": \"gem\""),
      "c.json#/variants/0/usual: expected one of primitive, gemm, tiles, found \"gem\"; did you "
      "mean \"gemm\"?");
  EXPECT_EQ(
      calibration_refusal(text, "\"usual\": \"gemm\"", "\"usual\": \"tiles\""),
      "c.json#/variants/0/usual: expected a variant that this shape has, found the text \"tiles\"");
  EXPECT_EQ(calibration_refusal(text, "\"3 us\"", "\"0 s\""),
            "c.json#/variants/0/times/0: expected a time above 0, found the text \"0 s\"");
}

// Files must stay readable with later binaries, so kernels are stored by name.
TEST(CalibrationJson, EveryKernelHasItsOwnName) {
  std::int16_t kernel = 0;
  for (const Op* op : testing::non_empty(ops()))
    for (const Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight}) {
      EXPECT_EQ(kernel_of(*op, pass), kernel);
      EXPECT_EQ(find_kernel(kernel_name(kernel)), kernel);
      ++kernel;
    }
  EXPECT_EQ(kernel_name(kernel), "");
  EXPECT_EQ(kernel_name(-1), "");
}

}  // namespace
}  // namespace trainyard
