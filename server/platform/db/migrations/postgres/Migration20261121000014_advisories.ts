import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000014_advisories extends Migration {
  override up() {
    this.addSql('create table "advisories" ("id" uuid not null, "created_at" timestamptz(3) not null, "osv_id" varchar(128) collate "C" not null, "modified_at" timestamptz(3) not null, "withdrawn_at" timestamptz(3) null, "summary" varchar(500) not null, "document" text not null, primary key ("id"));')
    this.addSql('alter table "advisories" add constraint "advisories_osv_id_unique" unique ("osv_id");')
    this.addSql('create table "advisory_packages" ("advisory_id" uuid not null, "package_name" varchar(64) collate "C" not null, primary key ("advisory_id", "package_name"));')
    this.addSql('create index "advisory_packages_package_name_index" on "advisory_packages" ("package_name");')
    this.addSql('alter table "packages" add "advisories_updated" timestamptz(3) null;')
    this.addSql('alter table "advisory_packages" add constraint "advisory_packages_advisory_id_foreign" foreign key ("advisory_id") references "advisories" ("id") on delete cascade;')
  }
}
