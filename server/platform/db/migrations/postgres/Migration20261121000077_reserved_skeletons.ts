import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000077_reserved_skeletons extends Migration {
  override up() {
    this.addSql(`alter table "reserved_names" add "skeleton" varchar(64) collate "C" not null default '';`)
    this.addSql(`update "reserved_names" set "skeleton" = translate("name", '_0123456789', '');`)
    this.addSql('create index "reserved_names_skeleton_index" on "reserved_names" ("skeleton");')
  }
}
