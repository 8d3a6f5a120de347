#include "app/desktop/planner/fate_list.h"

#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

#include "app/desktop/controls/theme.h"
#include "app/desktop/tables/table.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr int kShare = Qt::UserRole + 2, kFate = Qt::UserRole;

// Draws a share as a bar.
class ShareBar : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* p, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyledItemDelegate::paint(p, option, index);
    const QVariant share = index.data(kShare);
    if (!share.isValid()) return;
    const auto fate = static_cast<Fate>(index.siblingAtColumn(0).data(kFate).toInt());
    const QRectF room = QRectF(option.rect).adjusted(4, 6, -4, -6);
    const Ink ink = fate == Fate::Memory ? Ink::Swap
                    : fits(fate)         ? Ink::WeightGradient
                                         : Ink::MemoryWeights;
    p->fillRect(
        QRectF(room.x(), room.y(), std::max(1.0, room.width() * share.toDouble()), room.height()),
        qcolor(ink, current_theme()));
  }
};

}  // namespace

QString fate_words(Fate fate) {
  switch (fate) {
    case Fate::Untried:
      return "not tried";
    case Fate::Layers:
      return "layers do not divide";
    case Fate::Heads:
      return "heads or widths do not divide";
    case Fate::Batch:
      return "batch does not divide";
    case Fate::Sequence:
      return "tokens do not divide";
    case Fate::Devices:
      return "devices do not divide";
    case Fate::Schedule:
      return "schedule's conditions";
    case Fate::Method:
      return "another method's conditions";
    case Fate::Memory:
      return "does not fit";
    case Fate::Dominated:
      return "dominated";
    case Fate::Front:
      return "on the front";
    case Fate::Best:
      return "best";
  }
  return {};
}

FateList::FateList(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  table_ = make_table("Fates of plans", {"fate", "", "plans"}, {190, 80});
  table_->header()->setSectionResizeMode(1, QHeaderView::Fixed);
  table_->setColumnWidth(1, 96);
  table_->setColumnWidth(2, 74);
  table_->setHeaderHidden(true);
  table_->setItemDelegateForColumn(1, new ShareBar(table_));
  column->addWidget(table_);
  connect(table_, &QTreeWidget::itemSelectionChanged, this, [this] {
    const QList<QTreeWidgetItem*> rows = table_->selectedItems();
    const std::optional<Fate> now =
        rows.isEmpty() ? std::nullopt
                       : std::optional(static_cast<Fate>(rows[0]->data(0, kFate).toInt()));
    if (now == chosen_) return;
    chosen_ = now;
    Q_EMIT changed();
  });
}

void FateList::clear_choice() { table_->clearSelection(); }

void FateList::show_counts(const SearchResult* found) {
  const QSignalBlocker quiet(table_);
  table_->clear();
  if (found == nullptr) {
    chosen_.reset();
    return;
  }
  std::uint64_t most = 1;
  for (const std::uint64_t n : found->fates) most = std::max(most, n);
  bool kept = false;
  // The winning fates come first, then the losing ones by count.
  std::vector<std::size_t> order;
  for (std::size_t f = 0; f < kFates; ++f)
    if (found->fates[f] > 0) order.push_back(f);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto rank = [&](std::size_t f) { return static_cast<Fate>(f) >= Fate::Front ? 0 : 1; };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return rank(a) == 0 ? a > b : found->fates[a] > found->fates[b];
  });
  for (const std::size_t f : order) {
    const auto fate = static_cast<Fate>(f);
    const QString count =
        QString::fromStdString(format_count(static_cast<std::int64_t>(found->fates[f])));
    auto* item = add_table_row(table_, {fate_words(fate), "", count});
    item->setData(0, kFate, static_cast<int>(fate));
    // The square root makes small counts visible.
    item->setData(1, kShare,
                  std::sqrt(static_cast<double>(found->fates[f]) / static_cast<double>(most)));
    item->setToolTip(0, "Show only these in the table and in the picture");
    item->setToolTip(1, "Length goes by the root of the count");
    if (chosen_ == fate) item->setSelected(kept = true);
  }
  if (!kept) chosen_.reset();
}

}  // namespace trainyard
