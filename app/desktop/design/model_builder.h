// A ModelBuilder edits the project's model. It knows the model and the selected part, and makes
// every edit one undo step; an edited model becomes the project's own.
#pragma once

#include <QObject>
#include <QString>
#include <list>
#include <memory>

#include "app/desktop/session/document.h"
#include "core/model/edit.h"

namespace trainyard {

class ModelBuilder : public QObject {
  Q_OBJECT

 public:
  explicit ModelBuilder(Document&, QObject* parent = nullptr);

  /// The model; without blocks if the project has none, or one that cannot be read.
  const Model& model() const { return *model_; }
  ModelPart selected() const { return selected_; }
  void select(ModelPart);
  /// Returns whether the project stores the model itself, and not only a name.
  bool own() const;

  // Edits. An edit that is not possible emits refused() and changes nothing.
  /// Inserts a building block, given by name, behind `after`.
  void add(const QString& kind, ModelPart after);
  void remove();
  void duplicate();
  void move(int by);
  /// Moves a block to before the one at `to`.
  void move_block(int from, int to);
  /// Makes the first layer of a repeated block a block of its own, so that it can be edited alone.
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
  std::shared_ptr<const Model> read(const std::string& word);
  Document& document_;
  std::shared_ptr<const Model> model_;  // never null
  std::string word_;                    // the text from which model_ was read
  // Models that were read before, with their texts, the last one first: undo and redo return to
  // them without reading them again.
  struct Known {
    std::string word;
    std::shared_ptr<const Model> model;
  };
  std::list<Known> known_;
  ModelPart selected_;
};

}  // namespace trainyard
