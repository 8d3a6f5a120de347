#include "app/desktop/design/model_tree.h"

#include <QDropEvent>
#include <QHeaderView>
#include <QMimeData>

#include <algorithm>
#include <array>

#include "app/desktop/controls/bar_delegate.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "core/base/units_text.h"
#include "core/model/fields.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

enum TreeColumn { kName, kFlow, kCount, kCountBar, kWork, kWorkBar, kKept, kKeptBar, kTreeColumns };
constexpr int kBlockRole = Qt::UserRole + 2, kNodeRole = Qt::UserRole + 3;
constexpr int kTreeBar = 48, kLeastBar = 20, kLeastShape = 88;

// A shape such as "s × b × 8192", in which open dimensions appear as initials.
QString short_text(const Shape& shape) {
  QStringList parts;
  for (const Dim& dim : shape)
    parts << (dim.size != 0             ? QString::number(dim.size)
              : dim.axis == Axis::Batch ? QString("b")
                                        : QString("s"));
  return parts.join(QString::fromUtf8(" × "));
}

// What the outline's figures refer to: a microbatch on one device of the plan or, if no plan runs,
// one sample on a device that holds everything.
struct Measure {
  Binding binding;
  Precision precision;
};

Measure measure_of(const Session& session, const Model& model) {
  Measure measure;
  measure.precision.parameter = measure.precision.activation = DType::BF16;
  measure.binding.sequence = model.sequence;
  if (!session.experiment()) return measure;
  const Workload& workload = session.experiment()->workload;
  const Plan& plan = workload.scenario.plan;
  measure.binding.micro_batch = std::max<std::int64_t>(1, plan.batch.micro);
  if (plan.batch.sequence > 0) measure.binding.sequence = plan.batch.sequence;
  measure.binding.tp = plan.mesh.tp;
  measure.binding.cp = plan.mesh.cp;
  measure.binding.ep = plan.mesh.ep;
  measure.binding.whole_experts = whole_experts(plan.mesh);
  measure.binding.documents = workload.layout.binding.documents;
  return measure;
}

std::array<double, 3> amounts_of(const PartCost& cost) {
  return {static_cast<double>(cost.parameters), cost.forward.value,
          static_cast<double>(cost.saved.value)};
}

}  // namespace

ModelTree::ModelTree(ModelBuilder& builder, Session& session, QWidget* parent)
    : QTreeWidget(parent), builder_(builder), session_(session) {
  setAccessibleName("Model outline");
  setAccessibleDescription(
      "Blocks and nodes of the model. Insert adds, Delete removes, Control with Up and Down "
      "moves.");
  setColumnCount(kTreeColumns);
  setHeaderLabels({"Node", "Shape", "Params", "", "Forward", "", "Saved", ""});
  headerItem()->setToolTip(kWork, "Operations of one microbatch forward on one device");
  headerItem()->setToolTip(kKept, "Kept on one device for the backward pass of one microbatch");
  header()->setFixedHeight(kTableHeader);
  header()->setStretchLastSection(false);
  header()->setMinimumSectionSize(16);
  header()->setSectionResizeMode(kName, QHeaderView::Stretch);
  const int widths[] = {0, kLeastShape, 60, kTreeBar, 84, kTreeBar, 70, kTreeBar};
  for (int c = kFlow; c < kTreeColumns; ++c) setColumnWidth(c, widths[c]);
  for (const int c : {kCount, kWork, kKept})
    headerItem()->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
  setAlternatingRowColors(true);
  setUniformRowHeights(true);
  setIndentation(15);
  setFrameShape(QFrame::NoFrame);
  setTabKeyNavigation(false);
  setItemDelegate(new BarDelegate(kCountBar, this));
  setDragEnabled(true);
  setAcceptDrops(true);
  setDropIndicatorShown(true);
  setDragDropMode(QAbstractItemView::DragDrop);
  setDefaultDropAction(Qt::MoveAction);
  connect(this, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (!filling_) builder_.select(part_of(item));
  });
  connect(&builder_, &ModelBuilder::changed, this, &ModelTree::refresh);
  connect(&builder_, &ModelBuilder::selection_changed, this, &ModelTree::follow_selection);
  connect(&session_, &Session::experiment_changed, this, &ModelTree::refresh);
  refresh();
}

ModelPart ModelTree::part_of(const QTreeWidgetItem* item) {
  if (item == nullptr) return {};
  return {item->data(kName, kBlockRole).toInt(), item->data(kName, kNodeRole).toInt()};
}

QTreeWidgetItem* ModelTree::item_of(ModelPart part) const {
  QTreeWidgetItem* top = topLevelItem(0);
  if (part.block < 0 || top == nullptr || part.block >= top->childCount()) return top;
  QTreeWidgetItem* block = top->child(part.block);
  return part.node < 0 || part.node >= block->childCount() ? block : block->child(part.node);
}

void ModelTree::refresh() {
  QList<bool> open;
  if (const QTreeWidgetItem* top = topLevelItem(0))
    for (int b = 0; b < top->childCount(); ++b) open << top->child(b)->isExpanded();
  const bool first = open.isEmpty();
  filling_ = true;
  clear();
  if (!builder_.model().blocks.empty()) add_rows();
  if (QTreeWidgetItem* top = topLevelItem(0)) {
    top->setExpanded(true);
    bool shown = false;
    for (int b = 0; b < top->childCount(); ++b) {
      const bool layer = builder_.model().blocks[static_cast<std::size_t>(b)].layer;
      // The first layer is expanded at first, to show the model's structure at a glance.
      top->child(b)->setExpanded(first ? layer && !shown : b < open.size() && open[b]);
      shown = shown || layer;
    }
  }
  filling_ = false;
  follow_selection();
}

void ModelTree::follow_selection() {
  QTreeWidgetItem* item = item_of(builder_.selected());
  if (item == nullptr || item == currentItem()) return;
  filling_ = true;
  setCurrentItem(item);
  scrollToItem(item);
  filling_ = false;
}

void ModelTree::fill(QTreeWidgetItem* item, ModelPart part, const QString& name,
                     const QString& shape) {
  item->setText(kName, name);
  item->setText(kFlow, shape);
  item->setForeground(kFlow, qcolor(Ink::Text2, current_theme()));
  item->setSizeHint(kName, QSize(0, kTableRow));
  item->setData(kName, kBlockRole, part.block);
  item->setData(kName, kNodeRole, part.node);
  const bool block = part.block >= 0 && part.node < 0;
  item->setFlags(Qt::ItemIsSelectable | Qt::ItemIsEnabled |
                 (block ? Qt::ItemIsDragEnabled : Qt::NoItemFlags) | Qt::ItemIsDropEnabled);
}

void ModelTree::add_rows() {
  const Model& model = builder_.model();
  const Measure measure = measure_of(session_, model);
  std::array<double, 3> most_of_block{}, most_of_node{};
  struct Row {
    QTreeWidgetItem* item;
    PartCost cost;
    int depth;
  };
  std::vector<Row> rows;
  const auto cost_of = [&](ModelPart part) {
    return part_cost(model, part, measure.binding, measure.precision);
  };
  auto* top = new QTreeWidgetItem(this);
  fill(top, {}, q(model.name), QString("%1 layers").arg(layer_count(model)));
  rows.push_back({top, cost_of({}), 0});
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
    const Block& block = model.blocks[static_cast<std::size_t>(b)];
    const Graph& graph = block.graph;
    auto* item = new QTreeWidgetItem(top);
    fill(item, {b, -1}, q(block.name),
         short_text(graph[graph.input].shape) + QString::fromUtf8(" → ") +
             short_text(graph[graph.output].shape));
    item->setToolTip(
        kFlow, q(to_text(graph[graph.input].shape) + " → " + to_text(graph[graph.output].shape)));
    if (block.count > 1) item->setData(kName, kNoteRole, QString("× %1").arg(block.count));
    rows.push_back({item, cost_of({b, -1}), 1});
    const std::vector<PartCost> costs = node_costs(graph, measure.binding, measure.precision);
    for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
      const Node& node = graph.nodes[static_cast<std::size_t>(n)];
      auto* child = new QTreeWidgetItem(item);
      const trainyard::Shape* shape = &graph[node.outputs.front()].shape;
      for (const TensorId id : node.inputs)
        if (graph[id].kind == TensorKind::Parameter && graph[id].shape.size() > 1)
          shape = &graph[id].shape;
      fill(child, {b, n}, q(node.name), short_text(*shape));
      child->setToolTip(kFlow, q(to_text(*shape)));
      child->setToolTip(kName,
                        q(std::string(node.op->name) + ": " + std::string(node.op->summary)));
      rows.push_back({child, costs[static_cast<std::size_t>(n)], 2});
    }
  }
  for (const Row& row : rows) {
    auto& most = row.depth == 1 ? most_of_block : most_of_node;
    const auto now = amounts_of(row.cost);
    for (std::size_t i = 0; row.depth > 0 && i < 3; ++i) most[i] = std::max(most[i], now[i]);
  }
  for (const Row& row : rows) {
    const auto now = amounts_of(row.cost);
    const QString texts[] = {q(format_large(now[0])), q(readable(row.cost.forward)),
                             q(format_bytes(row.cost.saved))};
    for (std::size_t i = 0; i < 3; ++i) {
      const int column = kCount + 2 * static_cast<int>(i);
      row.item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
      if (now[i] <= 0) continue;
      row.item->setText(column, texts[i]);
      const double most = (row.depth == 1 ? most_of_block : most_of_node)[i];
      if (row.depth > 0) row.item->setData(column + 1, kShareRole, now[i] / most);
    }
  }
}

int ModelTree::block_before(const QPoint& at) const {
  const QTreeWidgetItem* item = itemAt(at);
  if (item == nullptr) return static_cast<int>(builder_.model().blocks.size()) - 1;
  const ModelPart part = part_of(item);
  if (part.block < 0) return -1;
  const bool upper = part.node < 0 && at.y() < visualItemRect(item).center().y();
  return upper ? part.block - 1 : part.block;
}

// Names and shapes come before the bars, which say again what the figures say.
void ModelTree::resizeEvent(QResizeEvent* event) {
  QTreeWidget::resizeEvent(event);
  const bool narrow = viewport()->width() < ui_pixels(620);
  for (const int c : {kCountBar, kWorkBar, kKeptBar})
    setColumnWidth(c, ui_pixels(narrow ? kLeastBar : kTreeBar));
  setColumnWidth(kFlow, narrow ? ui_pixels(kLeastShape) : viewport()->width() / 4);
}

void ModelTree::dragEnterEvent(QDragEnterEvent* event) {
  if (event->source() == this || event->mimeData()->hasFormat(kBuildingBlockMime))
    event->acceptProposedAction();
  else
    event->ignore();  // the window handles files
}

void ModelTree::dragMoveEvent(QDragMoveEvent* event) {
  QTreeWidget::dragMoveEvent(event);
  event->accept();
}

void ModelTree::dropEvent(QDropEvent* event) {
  const QPoint at = event->position().toPoint();
  if (event->mimeData()->hasFormat(kBuildingBlockMime)) {
    event->acceptProposedAction();
    const QString kind = QString::fromUtf8(event->mimeData()->data(kBuildingBlockMime));
    const ModelPart over = part_of(itemAt(at));
    builder_.add(kind, over.node >= 0 ? over : ModelPart{block_before(at), -1});
    return;
  }
  const ModelPart from = builder_.selected();
  if (event->source() != this || from.block < 0 || from.node >= 0) return event->ignore();
  // The builder moves the block, so the view must not remove its own row afterwards.
  event->setDropAction(Qt::IgnoreAction);
  event->accept();
  const int to = block_before(at) + 1;
  QMetaObject::invokeMethod(
      this, [this, block = from.block, to] { builder_.move_block(block, to); },
      Qt::QueuedConnection);
}

}  // namespace trainyard
