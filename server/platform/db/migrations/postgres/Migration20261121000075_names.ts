import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000075_names extends Migration {
  override up() {
    this.addSql(`alter table "packages" add "skeleton" varchar(64) collate "C" not null default '';`)
    this.addSql(`update "packages" set "skeleton" = translate("name", '_0123456789', '');`)
    this.addSql('create index "packages_skeleton_index" on "packages" ("skeleton");')
    this.addSql('create table "reserved_names" ("name" varchar(64) collate "C" not null, "reserved_at" timestamptz(3) not null, "reserved_by_id" uuid null, primary key ("name"));')
    this.addSql('create index "reserved_names_reserved_by_id_index" on "reserved_names" ("reserved_by_id");')
    this.addSql('insert into "reserved_names" ("name", "reserved_at") select "package_name", max("deleted_at") from "deleted_versions" where "package_name" not in (select "name" from "packages") group by "package_name";')
    this.addSql('create table "confusable_names" ("name" varchar(64) collate "C" not null, "similar_names" text not null, "noticed_at" timestamptz(3) not null, "requested_by_id" uuid null, "approved_at" timestamptz(3) null, "approved_by_id" uuid null, primary key ("name"));')
    this.addSql('create index "confusable_names_requested_by_id_index" on "confusable_names" ("requested_by_id");')
    this.addSql('create index "confusable_names_approved_by_id_index" on "confusable_names" ("approved_by_id");')
    this.addSql('create index "confusable_names_approved_at_name_index" on "confusable_names" ("approved_at", "name");')
    this.addSql('alter table "reserved_names" add constraint "reserved_names_reserved_by_id_foreign" foreign key ("reserved_by_id") references "users" ("id") on delete set null;')
    this.addSql('alter table "confusable_names" add constraint "confusable_names_requested_by_id_foreign" foreign key ("requested_by_id") references "users" ("id") on delete set null;')
    this.addSql('alter table "confusable_names" add constraint "confusable_names_approved_by_id_foreign" foreign key ("approved_by_id") references "users" ("id") on delete set null;')
  }
}
