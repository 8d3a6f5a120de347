#include "app/desktop/design/building_list.h"

#include <QKeyEvent>
#include <QMimeData>

#include "app/desktop/controls/theme.h"
#include "app/desktop/design/model_tree.h"

namespace trainyard {

BuildingList::BuildingList(ModelBuilder& builder, QWidget* parent)
    : QListWidget(parent), builder_(builder) {
  setAccessibleName("Building blocks");
  setAccessibleDescription("Enter puts one behind what is chosen of the model.");
  setFrameShape(QFrame::NoFrame);
  setDragEnabled(true);
  setUniformItemSizes(true);
  const auto words = [](std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
  };
  for (const BuildingBlock& kind : building_blocks()) {
    auto* item = new QListWidgetItem(words(kind.title) + (kind.variant.empty() ? "" : "   ") +
                                     words(kind.variant));
    item->setData(Qt::UserRole, words(kind.name));
    item->setSizeHint(QSize(0, kTableRow));
    item->setToolTip(kind.layer ? "A block: drag it between blocks, or press Enter"
                                : "A node: drag it onto a node, or press Enter");
    addItem(item);
  }
  connect(this, &QListWidget::itemDoubleClicked, this, &BuildingList::put);
}

QMimeData* BuildingList::mimeData(const QList<QListWidgetItem*>& items) const {
  auto* carried = new QMimeData;
  if (!items.isEmpty())
    carried->setData(kBuildingBlockMime, items.front()->data(Qt::UserRole).toString().toUtf8());
  return carried;
}

void BuildingList::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return put(currentItem());
  QListWidget::keyPressEvent(event);
}

void BuildingList::put(const QListWidgetItem* item) {
  if (item != nullptr) builder_.add(item->data(Qt::UserRole).toString(), builder_.selected());
}

}  // namespace trainyard
