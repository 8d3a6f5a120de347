#include "app/desktop/controls/outline.h"

#include <QHeaderView>

#include <algorithm>
#include <array>

#include "app/desktop/controls/bar_delegate.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "visualizers/model/layer_view.h"
#include "visualizers/view_data.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

enum Column {
  kNode,
  kShape,
  kParams,
  kParamsBar,
  kSaved,
  kSavedBar,
  kForward,
  kForwardBar,
  kColumns
};
constexpr int kBarWidth = 92;

std::array<double, 3> amounts(const LayerRow& row) {
  return {static_cast<double>(row.parameters), static_cast<double>(row.saved.value),
          to_seconds(row.forward)};
}

// Bars are relative to the largest row at their depth.
std::vector<std::array<double, 3>> largest_by_depth(const std::vector<LayerRow>& rows) {
  std::vector<std::array<double, 3>> largest;
  for (const LayerRow& row : rows) {
    const auto depth = static_cast<std::size_t>(row.depth);
    if (largest.size() <= depth) largest.resize(depth + 1, {0, 0, 0});
    const auto now = amounts(row);
    for (std::size_t i = 0; i < 3; ++i) largest[depth][i] = std::max(largest[depth][i], now[i]);
  }
  return largest;
}

}  // namespace

Outline::Outline(Session& session, QWidget* parent) : QTreeWidget(parent), session_(session) {
  setAccessibleName("Model outline");
  setColumnCount(kColumns);
  setHeaderLabels({"Node", "Shape", "Params", "", "Saved, per GPU", "", "Forward", ""});
  header()->setFixedHeight(kTableHeader);
  header()->setStretchLastSection(false);
  header()->setMinimumSectionSize(40);
  header()->setSectionResizeMode(kNode, QHeaderView::Stretch);
  header()->setSectionResizeMode(kShape, QHeaderView::Stretch);
  const int widths[] = {0, 0, 70, kBarWidth, 100, kBarWidth, 76, kBarWidth};
  for (int c = kParams; c < kColumns; ++c) setColumnWidth(c, widths[c]);
  for (int c : {kParams, kSaved, kForward})
    headerItem()->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
  setAlternatingRowColors(true);
  setUniformRowHeights(true);
  setIndentation(15);
  setFrameShape(QFrame::NoFrame);
  setTabKeyNavigation(false);
  setItemDelegate(new BarDelegate(kParamsBar, this));
  connect(&session_, &Session::experiment_changed, this, &Outline::refresh);
  refresh();
}

void Outline::refresh() {
  if (shown_ == session_.experiment() && shown_) return;
  shown_ = session_.experiment();
  clear();
  if (session_.data() == nullptr) return;
  const std::vector<LayerRow>& rows = session_.data()->get<LayerModel>().rows;
  const auto largest = largest_by_depth(rows);
  std::vector<QTreeWidgetItem*> parents;
  const QColor pale = qcolor(Ink::Text2, current_theme());
  for (const LayerRow& row : rows) {
    const auto depth = static_cast<std::size_t>(row.depth);
    parents.resize(depth);
    auto* item = parents.empty() ? new QTreeWidgetItem(this) : new QTreeWidgetItem(parents.back());
    parents.push_back(item);
    item->setText(kNode, q(row.name));
    item->setText(kShape, q(row.shape));
    item->setForeground(kShape, pale);
    item->setSizeHint(kNode, QSize(0, kTableRow));
    if (depth == 0 && row.stage.valid())
      item->setData(kNode, kNoteRole, QString("stage %1").arg(row.stage.value));
    if (row.parameters > 0)
      item->setText(kParams, q(format_large(static_cast<double>(row.parameters))));
    if (row.saved.value > 0) item->setText(kSaved, q(format_bytes(row.saved)));
    item->setText(kForward, q(format_duration(row.forward)));
    const auto now = amounts(row);
    for (std::size_t i = 0; i < 3; ++i) {
      const int column = kParams + 2 * static_cast<int>(i);
      item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
      if (now[i] > 0) item->setData(column + 1, kShareRole, now[i] / largest[depth][i]);
    }
  }
  // Expands the first run of layers down to its ops, to show the model's structure at a glance.
  for (int i = 0; i < topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = topLevelItem(i);
    if (item->childCount() == 0 || item->child(0)->childCount() == 0) continue;
    item->setExpanded(true);
    item->child(0)->setExpanded(true);
    break;
  }
}

}  // namespace trainyard
