import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000901_watches extends Migration {
  override up() {
    this.addSql('create table "package_watches" ("user_id" uuid not null, "package_id" uuid not null, "created_at" timestamptz(3) not null, primary key ("user_id", "package_id"));')
    this.addSql('create index "package_watches_package_id_index" on "package_watches" ("package_id");')
    this.addSql('alter table "package_watches" add constraint "package_watches_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "package_watches" add constraint "package_watches_package_id_foreign" foreign key ("package_id") references "packages" ("id") on update cascade on delete cascade;')
  }
}
