// The model builder: the project's model as something one edits. It knows the model, what is chosen
// of it, and makes every edit one step of undo; the model is then the project's own.
#pragma once

#include <QObject>
#include <QString>

#include "app/desktop/session/document.h"
#include "core/model/edit.h"

namespace trainyard {

class ModelBuilder : public QObject {
  Q_OBJECT

 public:
  explicit ModelBuilder(Document&, QObject* parent = nullptr);

  /// Without blocks where the project has no model, or one that cannot be read.
  const Model& model() const { return model_; }
  ModelPart selected() const { return selected_; }
  void select(ModelPart);
  /// Whether the project keeps the model itself, and not the name of one.
  bool own() const;

  // Edits. What cannot be done is said by refused() and changes nothing.
  /// A building block behind `after`, by its name.
  void add(const QString& kind, ModelPart after);
  void remove();
  void duplicate();
  void move(int by);
  /// A block to stand before the one at `to`.
  void move_block(int from, int to);
  /// The first layer of a repeated block as a block of its own, to be edited alone.
  void split_off();
  void set_field(const QString& key, const QString& value);

 Q_SIGNALS:
  void changed();
  void selection_changed();
  /// key: the field that was to be set; empty for other edits.
  void refused(const QString& key, const QString& sentence);

 private:
  template <class Edit>
  void edit(const QString& text, const QString& key, Edit&&);
  void refresh();
  Document& document_;
  Model model_;
  std::string word_;  // what model_ was read from
  ModelPart selected_;
};

}  // namespace trainyard
