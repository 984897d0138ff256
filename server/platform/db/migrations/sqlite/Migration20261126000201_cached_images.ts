import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000201_cached_images extends Migration {
  override up() {
    this.addSql('create table `cached_images` (`key` text not null primary key, `sha256` text null, `media_type` text null, `bytes` integer not null, `fetched_at` datetime not null, `used_at` datetime not null);')
    this.addSql('create index `cached_images_sha256_index` on `cached_images` (`sha256`);')
    this.addSql('create index `cached_images_used_at_index` on `cached_images` (`used_at`);')
  }
}
