// The model as an outline: blocks and their nodes with shape, parameters, work and what they keep.
// Blocks are dragged to their place; the palette's building blocks are dropped between them.
#pragma once

#include <QTreeWidget>

#include "app/desktop/design/model_builder.h"
#include "app/desktop/session/session.h"

namespace trainyard {

class ModelTree : public QTreeWidget {
  Q_OBJECT

 public:
  ModelTree(ModelBuilder&, Session&, QWidget* parent = nullptr);

 protected:
  void dragEnterEvent(QDragEnterEvent*) override;
  void dragMoveEvent(QDragMoveEvent*) override;
  void dropEvent(QDropEvent*) override;

 private:
  void refresh();
  void follow_selection();
  void add_rows();
  void fill(QTreeWidgetItem*, ModelPart, const QString& name, const QString& shape);
  QTreeWidgetItem* item_of(ModelPart) const;
  static ModelPart part_of(const QTreeWidgetItem*);
  /// The block that what is dropped there comes behind; -1: first of all.
  int block_before(const QPoint&) const;
  ModelBuilder& builder_;
  Session& session_;
  bool filling_ = false;
};

/// What the palette's items carry when they are dragged: the name of a building block.
inline constexpr const char* kBuildingBlockMime = "application/x-trainyard-building-block";

}  // namespace trainyard
