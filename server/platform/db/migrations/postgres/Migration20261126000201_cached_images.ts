import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000201_cached_images extends Migration {
  override up() {
    this.addSql('create table "cached_images" ("key" varchar(64) not null, "sha256" varchar(64) null, "media_type" varchar(32) null, "bytes" int not null, "fetched_at" timestamptz(3) not null, "used_at" timestamptz(3) not null, primary key ("key"));')
    this.addSql('create index "cached_images_sha256_index" on "cached_images" ("sha256");')
    this.addSql('create index "cached_images_used_at_index" on "cached_images" ("used_at");')
  }
}
