import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000601_registry_logo extends Migration {
  override up() {
    this.addSql('create table "registry_logos" ("key" varchar(16) not null, "png" bytea not null, "sha256" varchar(64) not null, primary key ("key"));')
  }
}
