import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000702_deleted_packages extends Migration {
  override up() {
    this.addSql('create table "deleted_packages" ("id" uuid not null, "created_at" timestamptz(3) not null, "name" varchar(64) collate "C" not null, "package_id" uuid not null, "is_whole" boolean not null, "deleted_by_id" uuid null, "versions" int not null, "data" text not null, primary key ("id"));')
    this.addSql('create index "deleted_packages_name_index" on "deleted_packages" ("name");')
    this.addSql('create index "deleted_packages_deleted_by_id_index" on "deleted_packages" ("deleted_by_id");')
    this.addSql('alter table "deleted_packages" add constraint "deleted_packages_deleted_by_id_foreign" foreign key ("deleted_by_id") references "users" ("id") on delete set null;')
    this.addSql('create table "deleted_package_versions" ("deleted_id" uuid not null, "version" varchar(64) not null, "version_id" uuid not null, "archive_sha256" varchar(64) not null, "archive_bytes" bigint not null, "data" text not null, primary key ("deleted_id", "version"));')
    this.addSql('alter table "deleted_package_versions" add constraint "deleted_package_versions_deleted_id_foreign" foreign key ("deleted_id") references "deleted_packages" ("id") on delete cascade;')
  }
}
