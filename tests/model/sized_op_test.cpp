#include "core/model/sized_op.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/op.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Work work_of(std::string_view op, const OpSizes& sizes, Pass pass = Pass::Forward) {
  const Graph graph = graph_of(sized_op(op), sizes);
  const Node& node = graph.nodes.front();
  return node.op->work({graph, node, Binding{}, Precision{}}, pass);
}

std::string refusal(std::string_view op, const OpSizes& sizes) {
  try {
    graph_of(sized_op(op), sizes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
    return error.what();
  }
  return "";
}

TEST(SizedOp, HasTheWorkOfItsSizes) {
  const Work product = work_of("matmul", {{"m", 3}, {"n", 5}, {"k", 7}});
  EXPECT_EQ(product.flops.value, 2 * 3 * 5 * 7);
  EXPECT_EQ((product.read + product.written).value, 4 * (3 * 7 + 7 * 5 + 3 * 5));
  const Work convolved = work_of(
      "convolution", {{"batch", 2}, {"channels", 3}, {"filters", 5}, {"image", 8}, {"kernel", 3}});
  EXPECT_EQ(convolved.flops.value, 2 * (2 * 8 * 8) * 5 * (3 * 3 * 3));
  const Work each = work_of("depthwise", {{"batch", 2}, {"channels", 3}, {"image", 8}});
  EXPECT_EQ(each.flops.value, 2 * (2 * 8 * 8) * 3 * (3 * 3));
}

// Its usual sizes can be made, and each of its sizes alone can be varied.
TEST(SizedOp, EveryOneIsMadeOfItsUsualSizes) {
  for (const SizedOp& op : testing::non_empty(sized_ops())) {
    EXPECT_EQ(graph_of(op, {}).nodes.size(), 1u) << op.name;
    EXPECT_NO_THROW(expect_size(op, op.batch, 1)) << op.name;
    for (const OpSize& size : testing::non_empty(op.sizes)) {
      EXPECT_LE(size.least, size.usual);
      EXPECT_LE(size.usual, size.most);
      EXPECT_GT(work_of(op.name, {{std::string(size.name), 2 * size.usual}}).written.value, 0);
    }
  }
}

TEST(SizedOp, WrongSizesGetASentence) {
  EXPECT_EQ(refusal("matmul", {{"width", 3}}),
            "expected a size of matmul, one of m, n, k; found \"width\"");
  EXPECT_EQ(refusal("matmul", {{"m", 0}}), "m: expected a whole number from 1 to 65536, found 0");
  EXPECT_THROW(sized_op("matmull"), Error);
}

}  // namespace
}  // namespace trainyard
