import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000011_downloads extends Migration {
  override up() {
    this.addSql('create table "package_downloads" ("package_id" uuid not null, "day" int not null, "downloads" bigint not null, primary key ("package_id", "day"));')
    this.addSql('create index "package_downloads_day_index" on "package_downloads" ("day");')
    this.addSql('create table "package_likes" ("user_id" uuid not null, "package_id" uuid not null, "created_at" timestamptz(3) not null, primary key ("user_id", "package_id"));')
    this.addSql('create index "package_likes_package_id_index" on "package_likes" ("package_id");')
    this.addSql('create table "version_downloads" ("version_id" uuid not null, "day" int not null, "downloads" bigint not null, primary key ("version_id", "day"));')
    this.addSql('alter table "package_downloads" add constraint "package_downloads_package_id_foreign" foreign key ("package_id") references "packages" ("id") on delete cascade;')
    this.addSql('alter table "package_likes" add constraint "package_likes_user_id_foreign" foreign key ("user_id") references "users" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "package_likes" add constraint "package_likes_package_id_foreign" foreign key ("package_id") references "packages" ("id") on update cascade on delete cascade;')
    this.addSql('alter table "version_downloads" add constraint "version_downloads_version_id_foreign" foreign key ("version_id") references "package_versions" ("id") on delete cascade;')
  }
}
